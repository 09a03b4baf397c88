"""Turn every error of an API request into an envelope with the right status and headers."""

import logging
from collections.abc import Mapping
from typing import Any

from django.core.exceptions import DisallowedHost, SuspiciousOperation, TooManyFieldsSent
from django.db import Error as DatabaseError
from django.http import Http404, HttpResponse
from rest_framework.exceptions import MethodNotAllowed, ValidationError

from cartsvc import request_errors as errors
from cartsvc.api.envelope import Failure
from cartsvc.api.framework_errors import errors_of
from cartsvc.db.outages import is_outage
from cartsvc.request_errors import ApiError
from cartsvc.serving import logs, metrics

logger = logging.getLogger(__name__)


def handle(error: Exception, context: Mapping[str, Any] | None = None) -> HttpResponse:
    """Answer any exception of an API request (the framework's EXCEPTION_HANDLER)."""
    told = error if isinstance(error, ApiError) else _api_error(error, context or {})
    if told is None:
        logger.error("Unexpected error in an API request", exc_info=error)
        told = errors.InternalError()
    behind: BaseException = error
    while behind.__cause__:
        behind = behind.__cause__
    metrics.ERRORS.inc(told.errors[0].code, type(behind).__name__)
    response = Failure(told.errors, told.warnings)
    for name, value in told.headers.items():
        response[name] = value
    return response


def _api_error(error: Exception, context: Mapping[str, Any]) -> ApiError | None:  # noqa: PLR0911 (one line a kind)
    match error:
        case ValidationError():
            return errors.ApiErrors(errors_of(error))
        case MethodNotAllowed():
            allowed = ", ".join(context["view"].allowed_methods)
            return errors.MethodNotAllowed(f"This path takes only {allowed}.")
        case Http404():
            return errors.NotFound()
        case DisallowedHost():
            logger.warning(logs.UNKNOWN_HOST)
            text = "The Host header names no host of this service."
            return errors.InvalidHeader(text, field="Host")
        case TooManyFieldsSent():
            return errors.InvalidParameter("The query has too many parameters.")
        case SuspiciousOperation():
            return errors.InvalidHeader()
        case DatabaseError() if is_outage(error):
            logger.warning("The database did not serve a request: %s", error)
            metrics.DATABASE_ERRORS.inc()
            return errors.Unavailable()
    return None
