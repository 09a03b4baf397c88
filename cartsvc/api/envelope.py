"""The ApiResponse envelope. Every answer of the API is built here and nowhere else.

Source: the section "ApiResponse envelope" of the Cart Service v2.0 specification.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import simplejson
from django.http import HttpResponse
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request

from cartsvc.camel_case import camel_case
from cartsvc.errors import MAX_PROBLEMS, MoreProblems, Refusal

# The standard library cannot write a Decimal as an exact JSON number; simplejson can.
_encode = simplejson.JSONEncoder(
    ensure_ascii=False, separators=(",", ":"), use_decimal=True, namedtuple_as_object=False
).encode


def success(
    message: str, data: Mapping[str, Any] | None = None, warnings: Iterable[Refusal] = ()
) -> HttpResponse:
    """Return the 200 answer; without `data` the property is absent, not null."""
    body: dict[str, Any] = {
        "message": message,
        "notifications": [
            _notification("Success", message),
            *(_problem_notification("Warning", warning) for warning in warnings),
        ],
    }
    if data is not None:
        body["data"] = data
    return HttpResponse(_encode(body), content_type="application/json")


def failure(problems: Sequence[Refusal], warnings: Sequence[Refusal] = ()) -> HttpResponse:
    """Return an error answer. Its status is that of the first problem."""
    text = failure_text(problems, warnings)
    return HttpResponse(text, content_type="application/json", status=problems[0].status)


def failure_text(problems: Sequence[Refusal], warnings: Sequence[Refusal] = ()) -> str:
    """Return the body of an error answer, with one notification for each problem.

    Only the first `MAX_PROBLEMS` problems are listed. If there are more, a last notification
    says so, and no warning follows it.
    """
    message = f"The request has {len(problems)} problems."
    if len(problems) == 1:
        field = _field(problems[0])
        message = f"{field}: {problems[0]}" if field else str(problems[0])
    elif len(problems) > MAX_PROBLEMS:
        message = f"The request has more than {MAX_PROBLEMS} problems."
        problems, warnings = [*problems[:MAX_PROBLEMS], MoreProblems()], ()
    notifications = [
        *(_problem_notification("Error", problem) for problem in problems),
        *(_problem_notification("Warning", warning) for warning in warnings),
    ]
    return _encode({"message": message, "notifications": notifications})


def _problem_notification(severity: str, problem: Refusal) -> dict[str, Any]:
    field = _field(problem)
    where = None if field is None else {"field": field}
    return _notification(severity, str(problem), problem.code, where)


def _field(problem: Refusal) -> str | None:
    """Return the name of what is at fault, or the JSON Pointer of a place in the body."""
    if isinstance(problem.field, tuple):
        return "".join(f"/{camel_case(str(part))}" for part in problem.field)
    return problem.field


def _notification(
    severity: str,
    text: str,
    code: str | None = None,
    additional_data: dict[str, str] | None = None,
) -> dict[str, Any]:
    return {"severity": severity, "text": text, "code": code, "additionalData": additional_data}


class NoNegotiation(BaseContentNegotiation):
    """Ignores the Accept header: a view always answers in its own format."""

    def select_renderer(
        self, request: Request, renderers: Iterable[BaseRenderer], format_suffix: Any = None
    ) -> tuple[BaseRenderer, str]:
        renderer = next(iter(renderers))
        return renderer, renderer.media_type
