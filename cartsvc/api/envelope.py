"""The ApiResponse envelope. Every answer of the API is built here and nowhere else.

Source: the section "ApiResponse envelope" of the Cart Service v2.0 specification.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from django.http import HttpResponse

from cartsvc.json_values import compact_json
from cartsvc.request_errors import MAX_ERRORS, ApiError, MoreProblems


def success(
    message: str, data: str | None = None, warnings: Iterable[ApiError] = ()
) -> HttpResponse:
    """Return the 200 answer, with the JSON text `data` if there is any."""
    quoted, notification = _success_texts(message)
    told = [notification, *(compact_json(_notification(one, "Warning")) for one in warnings)]
    members = {"message": quoted, "notifications": f"[{','.join(told)}]"}
    if data is not None:
        members["data"] = data
    return HttpResponse(object_text(members).encode(), content_type="application/json")


@cache
def _success_texts(message: str) -> tuple[str, str]:
    notification = {"severity": "Success", "text": message, "code": None, "additionalData": None}
    return compact_json(message), compact_json(notification)


def object_text(members: Mapping[str, str]) -> str:
    """Return the JSON object whose members have these texts, each of which is JSON."""
    texts = ",".join([f'"{name}":{text}' for name, text in members.items()])
    return f"{{{texts}}}"


entity_tag = '"{}"'.format  # of a version


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
