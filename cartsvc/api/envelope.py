"""The ApiResponse envelope. Every answer of the API is built here and nowhere else.

Source: the section "ApiResponse envelope" of the Cart Service v2.0 specification.
"""

import json
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

from django.http import HttpResponse
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request

from cartsvc.camel_case import camel_case
from cartsvc.errors import MAX_PROBLEMS, MoreProblems, Refusal

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def success(
    message: str, data: str | None = None, warnings: Iterable[Refusal] = ()
) -> HttpResponse:
    """Return the 200 answer, with the JSON text `data` if there is any."""
    told = "".join(f",{_encode(_notification(warning, 'Warning'))}" for warning in warnings)
    end = "}" if data is None else f',"data":{data}}}'
    return HttpResponse(f"{_beginning(message)}{told}]{end}", content_type="application/json")


@cache
def _beginning(message: str) -> str:
    success = {"severity": "Success", "text": message, "code": None, "additionalData": None}
    return _encode({"message": message, "notifications": [success]}).removesuffix("]}")


def failure(problems: Sequence[Refusal], warnings: Sequence[Refusal] = ()) -> HttpResponse:
    """Return an error answer. Its status is that of the first problem."""
    text = failure_text(problems, warnings)
    return HttpResponse(text, content_type="application/json", status=problems[0].status)


def failure_text(problems: Sequence[Refusal], warnings: Sequence[Refusal] = ()) -> str:
    """Return the body of an error answer. It lists the first `MAX_PROBLEMS` problems."""
    message = f"The request has {len(problems)} problems."
    if len(problems) == 1:
        field, message = _field(problems[0]), str(problems[0])
        if field and field not in message:
            message = f"{field}: {message}"
    elif len(problems) > MAX_PROBLEMS:
        message = f"The request has more than {MAX_PROBLEMS} problems."
        problems, warnings = [*problems[:MAX_PROBLEMS], MoreProblems()], ()
    notifications = [
        *(_notification(problem, "Error") for problem in problems),
        *(_notification(warning, "Warning") for warning in warnings),
    ]
    return _encode({"message": message, "notifications": notifications})


def _notification(problem: Refusal, severity: str) -> dict[str, Any]:
    field, text = _field(problem), str(problem)
    where = None if field is None else {"field": field}
    return {"severity": severity, "text": text, "code": problem.code, "additionalData": where}


def _field(problem: Refusal) -> str | None:
    if isinstance(problem.field, tuple):
        return "".join(f"/{camel_case(str(part))}" for part in problem.field)
    return problem.field


class NoNegotiation(BaseContentNegotiation):
    """Ignores the Accept header: a view always answers in its own format."""

    def select_renderer(
        self, request: Request, renderers: Iterable[BaseRenderer], format_suffix: Any = None
    ) -> tuple[BaseRenderer, str]:
        renderer = next(iter(renderers))
        return renderer, renderer.media_type
