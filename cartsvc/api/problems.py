"""Problems: how to declare what can be wrong with a request, and the problems every API has.

A problem is declared once, with its code, status, text, meaning and remedy. The answers,
the API document, the error catalogue and the tests read the declaration.
"""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Never

from django.core.exceptions import ValidationError


@dataclass(frozen=True, slots=True)
class ProblemType:
    """A kind of problem. Programs recognise it by its `code`.

    `text` is the sentence for people, with `%(name)s` placeholders for the details. `meaning`
    and `remedy` go into the error catalogue. `retry` says whether the same request may
    succeed later.
    """

    code: str
    status: int
    text: str
    meaning: str
    remedy: str
    retry: bool = False

    def problem(
        self, text: str | None = None, *, field: str | None = None, **details: Any
    ) -> "Problem":
        """Return a problem of this kind; `details` fill in the declared text."""
        return Problem(self, self.text % details if text is None else text, field, details)

    def refuse(
        self,
        text: str | None = None,
        *,
        field: str | None = None,
        headers: Mapping[str, str] | None = None,
        **details: Any,
    ) -> Never:
        """Raise `Refused` with a single problem of this kind."""
        raise Refused(self.problem(text, field=field, **details), headers=headers)

    def invalid(self, text: str | None = None, **details: Any) -> ValidationError:
        """Return the problem as a ValidationError, for validators that forms and models share."""
        return ValidationError(text or self.text, self.code, details)


@dataclass(frozen=True, slots=True)
class Problem:
    """One reason why a request is refused.

    `field` is what is at fault: a JSON Pointer (RFC 6901) into the request body, or the
    name of the path parameter, query parameter or header. The model layer has neither
    and names its own field or parameter: `items[0].currency`. `details` are what the text
    tells.
    """

    type: ProblemType
    text: str
    field: str | None = None
    details: Mapping[str, Any] = dataclasses.field(default_factory=dict)


class Refused(Exception):
    """Refuses a request. Any layer may raise it; `cartsvc.api.exceptions` answers it."""

    def __init__(self, *problems: Problem, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(*problems)
        self.problems = problems
        self.headers = headers or {}

    def __str__(self) -> str:
        return "; ".join(problem.text for problem in self.problems)


PROBLEM_TYPES: dict[str, ProblemType] = {}

# At most this many problems are listed in an answer. Checks stop looking after one more.
MOST_TOLD = 99


def declare(
    code: str, status: int, text: str, *, meaning: str, remedy: str, retry: bool = False
) -> ProblemType:
    """Return a new kind of problem and register it in `PROBLEM_TYPES` under its code.

    Raises:
        ValueError: the code is already declared.
    """
    if code in PROBLEM_TYPES:
        raise ValueError(f"{code} is declared twice.")
    declared = ProblemType(code, status, text, meaning, remedy, retry)
    PROBLEM_TYPES[code] = declared
    return declared


# Values

REQUIRED = declare(
    "required",
    400,
    "This field is required.",
    meaning="A required member of the body is missing.",
    remedy="Send it.",
)
NULL = declare(
    "null",
    400,
    "This field must not be null.",
    meaning="A required member of the body is null.",
    remedy="Send a value.",
)
BLANK = declare(
    "blank",
    400,
    "This text must not be blank.",
    meaning="A required text is empty or only white space.",
    remedy="Send at least one other character.",
)
MAX_LENGTH = declare(
    "max_length",
    400,
    "This text must not be longer than %(limit)d characters; it has %(length)d.",
    meaning="A text has more Unicode code points than its limit.",
    remedy="Shorten it.",
)
MIN_VALUE = declare(
    "min_value",
    400,
    "This number must not be below %(limit)s.",
    meaning="A number is below its limit.",
    remedy="Send a number within the limits.",
)
MAX_VALUE = declare(
    "max_value",
    400,
    "This number must not be above %(limit)s.",
    meaning="A number is above its limit.",
    remedy="Send a number within the limits.",
)
INVALID_TYPE = declare(
    "invalid_type",
    400,
    "This must be %(wanted)s, not %(sent)s.",
    meaning='A value is of another JSON type: "5" and true are not numbers, 5.5 is not an integer.',
    remedy="Send the type that the API document names.",
)
UNKNOWN_MEMBER = declare(
    "unknown_member",
    400,
    "This object has no member of that name.",
    meaning="The body names a member that the object does not have, perhaps a misspelt one. A "
    "success tells it as a warning; with Prefer: handling=strict it is an error.",
    remedy="Correct the name, or leave the member out.",
)
CONTROL_CHARACTER = declare(
    "control_character",
    400,
    "This text holds the control character U+%(code_point)04X.",
    meaning="A text holds a character that a printer takes for a command, or a lone surrogate.",
    remedy="Remove it. Tabs and line breaks may stand in note and specialInstructions.",
)

# The request

MALFORMED_JSON = declare(
    "malformed_json",
    400,
    "The body is not JSON.",
    meaning="The body is not JSON in UTF-8, or did not arrive whole.",
    remedy="Correct what the text names.",
)
INVALID_GUID = declare(
    "invalid_guid",
    400,
    "%(name)s must be a GUID.",
    meaning="A key in the path is not 8-4-4-4-12 hexadecimal digits.",
    remedy="Send the key as the service or the customer's account gave it.",
)
INVALID_PARAMETER = declare(
    "invalid_parameter",
    400,
    "A query parameter is not acceptable.",
    meaning="A query parameter has a value that it cannot have, or there are over 1,000 of them.",
    remedy="Correct the parameter that field names.",
)
INVALID_HEADER = declare(
    "invalid_header",
    400,
    "The request is not acceptable.",
    meaning="A header cannot be read, or names a host that is not this service's.",
    remedy="Correct the header that field names.",
)
MALFORMED_HTTP = declare(
    "malformed_http",
    400,
    "The request is not acceptable HTTP.",
    meaning="The first line, a header, the length or an escape in the path breaks HTTP's rules.",
    remedy="Let an HTTP library write the request.",
)
URI_TOO_LONG = declare(
    "uri_too_long",
    414,
    "The address of the request is too long.",
    meaning="The path and its query have more than 8 KiB.",
    remedy="Shorten the query: no operation takes so much.",
)
HEADERS_TOO_LARGE = declare(
    "headers_too_large",
    431,
    "The headers of the request are too large.",
    meaning="A header has more than 8 KiB, or all of them have more than 32 KiB.",
    remedy="Send less: a token with fewer claims, no foreign cookies.",
)
NOT_FOUND = declare(
    "not_found",
    404,
    "There is nothing at this path.",
    meaning="No operation of the service has this path.",
    remedy="Compare it with the API document, upper and lower case and final slash included.",
)
METHOD_NOT_ALLOWED = declare(
    "method_not_allowed",
    405,
    "The method is not allowed here.",
    meaning="The path is right, the method is not.",
    remedy="Use a method that the answer's Allow header names.",
)
PAYLOAD_TOO_LARGE = declare(
    "payload_too_large",
    413,
    "The body must not be larger than %(limit)d bytes.",
    meaning="The body is larger than the service accepts.",
    remedy="Send less: fewer items at once.",
)
UNSUPPORTED_MEDIA_TYPE = declare(
    "unsupported_media_type",
    415,
    "The body must be sent as application/json in UTF-8.",
    meaning="The body is of another media type or charset, or compressed.",
    remedy="Send Content-Type: application/json and no Content-Encoding.",
)

# Identity

NOT_AUTHENTICATED = declare(
    "not_authenticated",
    401,
    "Send an Authorization header with a bearer token.",
    meaning="The request carries no bearer token.",
    remedy="Send Authorization: Bearer and a token.",
)
INVALID_TOKEN = declare(
    "invalid_token",
    401,
    "The bearer token is not valid here.",
    meaning="The token has expired, or is not one that this service takes.",
    remedy="Get a new token from its issuer.",
)
INSUFFICIENT_SCOPE = declare(
    "insufficient_scope",
    403,
    "The token must carry %(scopes)s.",
    meaning="The token does not carry a scope that the operation takes.",
    remedy="Get a token with the scope that WWW-Authenticate names.",
)
PROFILE_MISMATCH = declare(
    "profile_mismatch",
    403,
    "The token does not open this customer profile.",
    meaning="The token is bound to another customer profile than the path's.",
    remedy="Use the profileKey of the token, or a token of that customer.",
)

MORE_PROBLEMS = declare(
    "more_problems",
    400,
    "There are more problems than these.",
    meaning="The request has more than 99 problems, and nothing more was looked for.",
    remedy="Correct those that are told, and send it again.",
)

# The service

THROTTLED = declare(
    "throttled",
    429,
    "Too many requests. Try again in %(seconds)d seconds.",
    meaning="The bearer has sent more requests than the limit allows.",
    remedy="Wait for as many seconds as Retry-After says.",
    retry=True,
)
INTERNAL_ERROR = declare(
    "internal_error",
    500,
    "Something went wrong on our side.",
    meaning="A defect of the service.",
    remedy="Tell its operator the X-Request-ID of the answer.",
)
UNAVAILABLE = declare(
    "unavailable",
    503,
    "The service cannot reach its data right now. Try again.",
    meaning="The database, or the issuer of the tokens' keys, does not answer in time, "
    "or too many large requests came at once. A change may have happened nevertheless, as a whole.",
    remedy="Try again after Retry-After: to create or add, with the same Idempotency-Key; to "
    "update or remove, with If-Match.",
    retry=True,
)
