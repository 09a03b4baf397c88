"""The ApiResponse envelope: the only place where an answer of the API is built.

Source: the section "ApiResponse envelope" of the Cart Service v2.0 specification.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Never

import simplejson
from django.http import HttpResponse

MAX_NOTIFICATIONS = 100

# simplejson, because it writes a Decimal as the JSON number that it is.
_encode = simplejson.JSONEncoder(
    ensure_ascii=False, separators=(",", ":"), use_decimal=True, namedtuple_as_object=False
).encode


@dataclass(frozen=True, slots=True)
class Problem:
    """One reason why a request is refused.

    `code` is stable snake_case for programs, `text` a sentence for people. `field`
    is a JSON Pointer (RFC 6901) into the request body, or the name of the path
    parameter, query parameter or header that is at fault.
    """

    code: str
    text: str
    field: str | None = None


class Refused(Exception):
    """A request that is refused: raised anywhere, answered by `cartsvc.api.exceptions`."""

    def __init__(self, *problems: Problem, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(*problems)
        self.problems = problems
        self.headers = headers or {}

    def __str__(self) -> str:
        return "; ".join(problem.text for problem in self.problems)


def refuse(code: str, text: str, field: str | None = None) -> Never:
    """Raise `Refused` for a single problem."""
    raise Refused(Problem(code, text, field))


def success(message: str, data: Mapping[str, Any] | None = None) -> HttpResponse:
    """Return the 200 answer; without `data` the property is absent, not null."""
    body: dict[str, Any] = {
        "message": message,
        "notifications": [_notification("Success", message)],
    }
    if data is not None:
        body["data"] = data
    return _answer(200, body)


def failure(status: int, problems: Sequence[Problem]) -> HttpResponse:
    """Return an error answer with one notification a problem, at most 100 in all."""
    return _answer(status, _failure_body(problems))


def failure_text(problems: Sequence[Problem]) -> str:
    """Return the body of an error answer, where there is no request to answer."""
    return _encode(_failure_body(problems))


def _failure_body(problems: Sequence[Problem]) -> dict[str, Any]:
    shown = problems
    if len(problems) > MAX_NOTIFICATIONS:
        shown = problems[: MAX_NOTIFICATIONS - 1]
        more = len(problems) - len(shown)
        shown = [*shown, Problem("too_many", f"There are {more} more problems.")]
    return {
        "message": problems[0].text
        if len(problems) == 1
        else f"The request has {len(problems)} problems.",
        "notifications": [
            _notification(
                "Error",
                problem.text,
                problem.code,
                None if problem.field is None else {"field": problem.field},
            )
            for problem in shown
        ],
    }


def _notification(
    severity: str,
    text: str,
    code: str | None = None,
    additional_data: dict[str, str] | None = None,
) -> dict[str, Any]:
    return {"severity": severity, "text": text, "code": code, "additionalData": additional_data}


def _answer(status: int, body: dict[str, Any]) -> HttpResponse:
    return HttpResponse(_encode(body), content_type="application/json", status=status)
