"""Turn every error of an API request into an envelope with the right status and headers."""

import logging
from collections.abc import Iterator, Mapping
from typing import Any

from django.core.exceptions import DisallowedHost, SuspiciousOperation, TooManyFieldsSent
from django.core.exceptions import ValidationError as DjangoValidationError
from django.db import Error as DatabaseError
from django.http import Http404, HttpResponse
from rest_framework.exceptions import MethodNotAllowed, ValidationError
from rest_framework.serializers import as_serializer_error
from rest_framework.settings import api_settings

from cartsvc import request_errors
from cartsvc.api.envelope import Failure
from cartsvc.db.database_errors import is_outage
from cartsvc.request_errors import ApiError
from cartsvc.serving import metrics
from cartsvc.value_errors import InvalidValue

logger = logging.getLogger(__name__)


def handle(error: Exception, context: Mapping[str, object] | None = None) -> HttpResponse:
    """Answer any exception of an API request (the framework's EXCEPTION_HANDLER)."""
    api_error = _api_error(error, context or {})
    behind: BaseException = error
    while behind.__cause__:
        behind = behind.__cause__
    metrics.REFUSALS.add(api_error.errors[0].code, type(behind).__name__)
    return Failure(api_error)


def _api_error(error: Exception, context: Mapping[str, Any]) -> ApiError:  # noqa: PLR0911 (one line a kind)
    match error:
        case ApiError():
            return error
        case ValidationError():
            return request_errors.ApiErrors(errors_of(error))
        case MethodNotAllowed():
            allowed = ", ".join(context["view"].allowed_methods)
            text = f"This path takes only {allowed}."
            return request_errors.MethodNotAllowed(text, headers={"Allow": allowed})
        case Http404():
            return request_errors.NotFound()
        case DisallowedHost():
            logger.warning("A request was refused: ALLOWED_HOSTS does not list its Host.")
            text = "The Host header names no host of this service."
            return request_errors.InvalidHeader(text, field="Host")
        case TooManyFieldsSent():
            return request_errors.InvalidParameter("The query has too many parameters.")
        case SuspiciousOperation():
            return request_errors.InvalidHeader()
        case DatabaseError() if is_outage(error):
            logger.warning("The database did not serve a request: %s", error)
            metrics.DATABASE_ERRORS.add()
            return request_errors.Unavailable()
    logger.error("Unexpected error in an API request", exc_info=error)
    return request_errors.InternalError()


def errors_of(error: Exception) -> list[ApiError]:
    """Return the errors of an exception: one of ours, or what a `validate` method has raised."""
    if isinstance(error, ApiError):
        return list(error.errors)
    if isinstance(error, DjangoValidationError):
        error = ValidationError(as_serializer_error(error))
    assert isinstance(error, ValidationError)  # noqa: S101
    return list(_flat(error.detail))


def _flat(detail: Any, *place: str) -> Iterator[ApiError]:
    match detail:
        case dict():
            for name, inner in detail.items():
                part = () if name == api_settings.NON_FIELD_ERRORS_KEY else (name,)
                yield from _flat(inner, *place, *part)
        case list():
            for inner in detail:
                yield from _flat(inner, *place)
        case _:
            api_error = InvalidValue(str(detail), field=place)
            api_error.code = detail.code
            yield api_error
