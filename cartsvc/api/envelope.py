"""The ApiResponse envelope. Every answer of the API is built here and nowhere else.

Source: the section "ApiResponse envelope" of the Cart Service v2.0 specification.
"""

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

from django.http import HttpResponse

from cartsvc.json_values import compact_json
from cartsvc.request_errors import MAX_ERRORS, ApiError, MoreProblems


def success(
    message: str, data: str | None = None, warnings: Iterable[ApiError] = ()
) -> HttpResponse:
    """Return the 200 answer, with the JSON text `data` if there is any."""
    text = _beginning(message)
    for warning in warnings:
        text += f",{compact_json(_notification(warning, 'Warning'))}"
    end = "}" if data is None else f',"data":{data}}}'
    return HttpResponse(f"{text}]{end}".encode(), content_type="application/json")


@cache
def _beginning(message: str) -> str:
    success = {"severity": "Success", "text": message, "code": None, "additionalData": None}
    return compact_json({"message": message, "notifications": [success]}).removesuffix("]}")


def entity_tag(version: int) -> str:
    return f'"{version}"'


class Failure(HttpResponse):
    """An error answer. Its status, and its `code` for the log, are those of the first error."""

    def __init__(self, error: ApiError) -> None:
        text, first = failure_text(error.errors, error.warnings), error.errors[0]
        super().__init__(text, "application/json", first.status, headers=error.headers)
        self.code = first.code


def failure_text(errors: Sequence[ApiError], warnings: Sequence[ApiError] = ()) -> str:
    """Return the body of an error answer. It lists the first `MAX_ERRORS` errors."""
    message = f"The request has {len(errors)} problems."
    if len(errors) == 1:
        field, message = errors[0].pointer, errors[0].sentence
        if field and field not in message:
            message = f"{field}: {message}"
    elif len(errors) > MAX_ERRORS:
        message = f"The request has more than {MAX_ERRORS} problems."
        errors, warnings = [*errors[:MAX_ERRORS], MoreProblems()], ()
    notifications = [
        *(_notification(error, "Error") for error in errors),
        *(_notification(warning, "Warning") for warning in warnings),
    ]
    return compact_json({"message": message, "notifications": notifications})


def _notification(error: ApiError, severity: str) -> dict[str, Any]:
    return {
        "severity": severity,
        "text": error.sentence,
        "code": error.code,
        "additionalData": error.additional_data,
    }
