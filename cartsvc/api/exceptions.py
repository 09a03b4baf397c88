"""Turn every error of an API request into an envelope with the right status and headers."""

import logging
from typing import Any

from django.core.exceptions import DisallowedHost, SuspiciousOperation, TooManyFieldsSent
from django.db import Error as DatabaseError
from django.http import Http404, HttpResponse
from rest_framework.exceptions import MethodNotAllowed, Throttled

from cartsvc.api.envelope import failure
from cartsvc.api.problems import (
    INTERNAL_ERROR,
    INVALID_HEADER,
    INVALID_PARAMETER,
    METHOD_NOT_ALLOWED,
    NOT_FOUND,
    THROTTLED,
    UNAVAILABLE,
    Refused,
)
from cartsvc.db.errors import is_outage
from cartsvc.operations import metrics

logger = logging.getLogger(__name__)

RETRY_AFTER_SECONDS = 1


def handle(error: Exception, _context: dict[str, Any] | None = None) -> HttpResponse:
    """Answer any exception of an API request (the framework's EXCEPTION_HANDLER)."""
    refused = _refusal(error)
    if refused is None:
        logger.error("Unexpected error in an API request", exc_info=error)
        refused = Refused(INTERNAL_ERROR.problem())
    response = failure(refused.problems)
    for name, value in refused.headers.items():
        response[name] = value
    if response.status_code == UNAVAILABLE.status:
        response["Retry-After"] = str(RETRY_AFTER_SECONDS)
    return response


def _refusal(error: Exception) -> Refused | None:  # noqa: PLR0911 (one line a kind)
    match error:
        case Refused():
            return error
        case MethodNotAllowed():
            return Refused(METHOD_NOT_ALLOWED.problem(str(error.detail)))
        case Throttled():
            seconds = max(1, round(getattr(error, "wait", None) or RETRY_AFTER_SECONDS))
            return Refused(
                THROTTLED.problem(seconds=seconds), headers={"Retry-After": str(seconds)}
            )
        case Http404():
            return Refused(NOT_FOUND.problem())
        case DisallowedHost():
            # The name itself is the caller's to choose, and so it is not logged.
            logger.warning("A request was refused: ALLOWED_HOSTS does not list its Host.")
            text = "The Host header names no host of this service."
            return Refused(INVALID_HEADER.problem(text, field="Host"))
        case TooManyFieldsSent():
            return Refused(INVALID_PARAMETER.problem("The query has too many parameters."))
        case SuspiciousOperation():
            return Refused(INVALID_HEADER.problem())
        case DatabaseError() if is_outage(error):
            logger.warning("The database did not answer: %s", error)
            metrics.DATABASE_ERRORS.inc()
            return Refused(UNAVAILABLE.problem())
    return None
