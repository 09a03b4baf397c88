"""The ApiResponse envelope. Every answer of the API is built here and nowhere else.

Source: the section "ApiResponse envelope" of the Cart Service v2.0 specification.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import simplejson
from django.http import HttpResponse

from cartsvc.api.problems import MORE_PROBLEMS, MOST_TOLD, Problem

# The standard library cannot write a Decimal as an exact JSON number; simplejson can.
_encode = simplejson.JSONEncoder(
    ensure_ascii=False, separators=(",", ":"), use_decimal=True, namedtuple_as_object=False
).encode


def success(
    message: str, data: Mapping[str, Any] | None = None, warnings: Iterable[Problem] = ()
) -> HttpResponse:
    """Return the 200 answer; without `data` the property is absent, not null."""
    body: dict[str, Any] = {
        "message": message,
        "notifications": [
            _notification("Success", message),
            *(_told("Warning", warning) for warning in warnings),
        ],
    }
    if data is not None:
        body["data"] = data
    return HttpResponse(_encode(body), content_type="application/json")


def failure(problems: Sequence[Problem]) -> HttpResponse:
    """Return an error answer. Its status is that of the first problem."""
    return HttpResponse(
        failure_text(problems), content_type="application/json", status=problems[0].type.status
    )


def failure_text(problems: Sequence[Problem]) -> str:
    """Return the body of an error answer, with one notification for each problem.

    Only the first `MOST_TOLD` problems are listed. If there are more, a last notification
    says so.
    """
    count = str(len(problems))
    if len(problems) > MOST_TOLD:
        count = f"more than {MOST_TOLD}"
        problems = [*problems[:MOST_TOLD], MORE_PROBLEMS.problem()]
    notifications = [_told("Error", problem) for problem in problems]
    message = problems[0].text if count == "1" else f"The request has {count} problems."
    return _encode({"message": message, "notifications": notifications})


def _told(severity: str, problem: Problem) -> dict[str, Any]:
    where = None if problem.field is None else {"field": problem.field}
    return _notification(severity, problem.text, problem.type.code, where)


def _notification(
    severity: str,
    text: str,
    code: str | None = None,
    additional_data: dict[str, str] | None = None,
) -> dict[str, Any]:
    return {"severity": severity, "text": text, "code": code, "additionalData": additional_data}
