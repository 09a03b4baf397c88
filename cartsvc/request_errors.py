"""What can be wrong with any request: one exception class each, raised by any layer."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from cartsvc.member_names import camel_case, json_pointer, snake_case

# An answer lists this many errors. Checks stop looking after one more.
MAX_ERRORS = 99

# Bytes of a header, of all of them, and of a path with its query: what nginx.conf lets through.
HEADER_MAX_LENGTH = ADDRESS_MAX_LENGTH = 8 * 1024
HEADERS_MAX_LENGTH = 32 * 1024

# Every declared error by its code. Complete once the modules of errors are imported.
API_ERRORS: dict[str, type["ApiError"]] = {}


class ApiError(Exception):
    """What is wrong with a request.

    To declare one, write a subclass. Its `code` is its name. `text` has `%(name)s` for the details
    that `raise PayloadTooLarge(limit=262_144)` gives. Those that are `facts` stand beside the text,
    so that a program need not read it. `meaning`, if the text is not enough, and `remedy` are its
    lines in the error catalogue. `retry` says whether the same request may succeed later. `field`
    is a place in the body, such as `("items", 0, "display_name")`, or the name of a path parameter,
    query parameter or header.
    """

    code: str
    status: ClassVar[int] = 400
    text: ClassVar[str]
    facts: ClassVar[tuple[str, ...]] = ()
    meaning: ClassVar[str]
    remedy: ClassVar[str]
    retry: ClassVar[bool] = False
    usual_headers: ClassVar[Mapping[str, str]] = {}  # of the answer, unless `raise` gives others
    warnings: Sequence["ApiError"] = ()  # of the answer, beside the error

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "text" in vars(cls):
            cls.code = snake_case(cls.__name__).lstrip("_")
            cls.meaning = vars(cls).get("meaning", cls.text)
            if API_ERRORS.setdefault(cls.code, cls) is not cls:
                raise TypeError(f"{cls.code} is declared twice.")

    def __init__(
        self,
        text: str | None = None,
        *,
        field: str | tuple[str | int, ...] | None = None,
        headers: Mapping[str, str] | None = None,
        **details: Any,
    ) -> None:
        self.sentence = self.text % details if text is None else text  # without its place
        super().__init__(self.sentence)
        self.field = field
        self.headers = headers or self.usual_headers
        self.details = details

    def __str__(self) -> str:
        # People at a shell read it. The API's answers have the pointer beside the sentence.
        return f"{self.path}: {self.sentence}" if self.path else self.sentence

    @property
    def errors(self) -> Sequence["ApiError"]:
        """The error itself, or those that it holds."""
        return [self]

    @property
    def pointer(self) -> str | None:
        """The `field`, as callers read it: of a place, the JSON Pointer (RFC 6901)."""
        if isinstance(self.field, tuple):
            return json_pointer(camel_case(str(part)) for part in self.field)
        return self.field

    @property
    def additional_data(self) -> dict[str, Any] | None:
        """The place and the facts, as programs read them; None if there are none."""
        place = {} if self.pointer is None else {"field": self.pointer}
        facts = {camel_case(n): self.details[n] for n in self.facts if n in self.details}
        return {**place, **facts} or None

    @property
    def path(self) -> str:
        """The place of the error, as Python writes it; empty if the `field` is none."""
        place = self.field if isinstance(self.field, tuple) else ()
        parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in place)
        return "".join(parts).removeprefix(".")


class ApiErrors(ApiError):
    errors: Sequence[ApiError] = ()

    def __init__(self, errors: Sequence[ApiError]) -> None:
        super().__init__("")
        self.errors = errors

    def __str__(self) -> str:
        return " ".join(map(str, self.errors))


class UnknownMember(ApiError):
    text = "This object has no member of that name."
    meaning = (
        "The body names a member that the object does not have, perhaps a misspelt one. Create, "
        "Add, Update and Change warn of it, unless Prefer: handling=strict is sent."
    )
    remedy = "Correct the name, or leave the member out."


class UnknownParameter(ApiError):
    text = "This operation has no query parameter of that name."
    meaning = "The query names a parameter that the list does not have, perhaps a misspelt one."
    remedy = "Correct the name, or leave the parameter out."


class MalformedJson(ApiError):
    text = "The body is not JSON."
    meaning = "The body is not JSON in UTF-8, or did not arrive whole."
    remedy = "Correct what the text names."


class InvalidGuid(ApiError):
    text = "%(name)s must be a GUID: 8-4-4-4-12 hexadecimal digits."
    meaning = "A key is not 8-4-4-4-12 hexadecimal digits, or an itemId comes twice."
    remedy = "Send the key as the service or the customer's account gave it."


class InvalidParameter(ApiError):
    text = "A query parameter is not acceptable."
    meaning = "A query parameter has a value that it cannot have, or there are too many of them."
    remedy = "Correct the parameter that field names."


class InvalidHeader(ApiError):
    text = "The request is not acceptable."
    meaning = "A header cannot be read, or names a host that is not this service's."
    remedy = "Correct the header that field names."


class MalformedHttp(ApiError):
    text = "The request is not acceptable HTTP."
    meaning = "The first line, a header, the length or an escape in the path breaks HTTP's rules."
    remedy = "Let an HTTP library write the request."


class UriTooLong(ApiError):
    status = 414
    text = "The address of the request is too long."
    meaning = f"The path and its query have more than {ADDRESS_MAX_LENGTH // 1024} KiB."
    remedy = "Shorten the query: no operation takes so much."


class HeadersTooLarge(ApiError):
    status = 431
    text = "The headers of the request are too large."
    meaning = (
        f"A header has more than {HEADER_MAX_LENGTH // 1024} KiB, or all of them have more than "
        f"{HEADERS_MAX_LENGTH // 1024} KiB. If there are more than 90, the answer may have no body."
    )
    remedy = "Send less: a token with fewer claims, no foreign cookies."


class NotFound(ApiError):
    status = 404
    text = "There is nothing at this path."
    remedy = "Compare it with the API document, upper and lower case and final slash included."


class MethodNotAllowed(ApiError):
    status = 405
    text = "The method is not allowed here."
    remedy = "Use a method that the answer's Allow header names."


class PayloadTooLarge(ApiError):
    status = 413
    text = "The body must not be larger than %(limit)d bytes."
    facts = ("limit",)
    meaning = "The body is larger than the service accepts."
    remedy = "Send less: fewer items at once."


class UnsupportedMediaType(ApiError):
    status = 415
    text = "The body must be sent as %(taken)s in UTF-8."
    meaning = "The body is of another media type or charset, or compressed."
    remedy = "Send Content-Type: application/json and no Content-Encoding."


class NotAuthenticated(ApiError):
    status = 401
    text = "Send an Authorization header with a bearer token."
    meaning = "The request carries no bearer token."
    remedy = "Send Authorization: Bearer and a token."


class InvalidToken(ApiError):
    status = 401
    text = "The bearer token is not valid here."
    meaning = "The token has expired, or is not one that this service takes."
    remedy = "Get a new token from its issuer."


class InsufficientScope(ApiError):
    status = 403
    text = "The token must carry %(named)s."
    facts = ("scopes",)
    meaning = "The token does not carry a scope that the operation takes, or not all that it needs."
    remedy = "Get a token with the scopes that WWW-Authenticate names."


class MoreProblems(ApiError):
    text = "There are more problems than these."
    meaning = f"The request has more than {MAX_ERRORS} problems, and nothing more was looked for."
    remedy = "Correct those that are listed, and send it again."


class Throttled(ApiError):
    """The answer of the shipped nginx.conf, where it limits rates."""

    status = 429
    text = "Too many requests have come with this token. Try again."
    meaning = "More requests come with the token than the operator allows."
    remedy = "Wait for as many seconds as Retry-After says."
    retry = True


class InternalError(ApiError):
    status = 500
    text = "Something went wrong on our side."
    remedy = "Tell its operator the X-Request-ID of the answer."


class Unavailable(ApiError):
    status = 503
    text = "The service cannot reach its data right now. Try again."
    meaning = (
        "The database, or the issuer of the tokens' keys, does not answer in time, or too many "
        "requests came at once. A change may have been made nevertheless, as a whole."
    )
    remedy = "Try again after Retry-After, a change with its Idempotency-Key, or with If-Match."
    retry = True
    usual_headers: ClassVar = {"Retry-After": "1"}
