"""Any error becomes an envelope with the right status and headers; nothing escapes."""

import logging
from collections.abc import Iterator
from typing import Any

from django.core.exceptions import PermissionDenied, SuspiciousOperation
from django.db import Error as DatabaseError
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpResponse
from rest_framework.exceptions import ErrorDetail, MethodNotAllowed, Throttled, ValidationError

from cartsvc.api.envelope import Problem, Refused, failure
from cartsvc.operations import metrics

logger = logging.getLogger(__name__)

RETRY_AFTER_SECONDS = 1

# Every code that is not here is a problem with the values sent: 400.
STATUS = {
    "not_authenticated": 401,
    "invalid_token": 401,
    "insufficient_scope": 403,
    "profile_mismatch": 403,
    "partner_mismatch": 403,
    "not_found": 404,
    "cart_not_found": 404,
    "item_not_found": 404,
    "method_not_allowed": 405,
    "request_in_progress": 409,
    "version_mismatch": 412,
    "payload_too_large": 413,
    "unsupported_media_type": 415,
    "idempotency_key_reused": 422,
    "throttled": 429,
    "internal_error": 500,
    "unavailable": 503,
}

# SQLSTATE 25006, read_only_sql_transaction: what a demoted primary answers.
READ_ONLY = "25006"


def handle(error: Exception, _context: dict[str, Any] | None = None) -> HttpResponse:
    """Answer any exception of an API request (the framework's EXCEPTION_HANDLER)."""
    refused = _refusal(error)
    if refused is None:
        logger.error("Unexpected error in an API request", exc_info=error)
        refused = _refused("internal_error", "Something went wrong on our side.")
    response = failure(STATUS.get(refused.problems[0].code, 400), refused.problems)
    for name, value in refused.headers.items():
        response[name] = value
    if response.status_code == STATUS["unavailable"]:
        response["Retry-After"] = str(RETRY_AFTER_SECONDS)
    return response


def _refusal(error: Exception) -> Refused | None:  # noqa: PLR0911 (one line a kind)
    match error:
        case Refused():
            return error
        case ValidationError():
            return Refused(*_problems(error.detail))
        case MethodNotAllowed():
            return _refused("method_not_allowed", str(error.detail))
        case Throttled():
            wait = max(1, round(getattr(error, "wait", None) or RETRY_AFTER_SECONDS))
            return _refused(
                "throttled",
                f"Too many requests. Try again in {wait} seconds.",
                headers={"Retry-After": str(wait)},
            )
        case Http404():
            return _refused("not_found", "There is nothing at this path.")
        case SuspiciousOperation() | PermissionDenied():
            return _refused("invalid_header", "The request is not acceptable.")
        case OperationalError() | InterfaceError():
            return _unavailable(error)
        case DatabaseError() if getattr(error.__cause__, "sqlstate", None) == READ_ONLY:
            return _unavailable(error)
    return None


def _unavailable(error: Exception) -> Refused:
    logger.warning("The database did not answer: %s", error)
    metrics.DATABASE_ERRORS.inc()
    return _refused("unavailable", "The service cannot reach its data right now. Try again.")


def _refused(code: str, text: str, *, headers: dict[str, str] | None = None) -> Refused:
    return Refused(Problem(code, text), headers=headers)


def _problems(detail: Any, pointer: str = "") -> Iterator[Problem]:
    """Flatten the framework's nested error detail; keys and indexes become a JSON Pointer."""
    if isinstance(detail, ErrorDetail):
        yield Problem(detail.code or "invalid", str(detail), pointer)
    elif isinstance(detail, dict):
        for key, inner in detail.items():
            yield from _problems(inner, f"{pointer}/{key}")
    else:
        for inner in detail:
            yield from _problems(inner, pointer)
