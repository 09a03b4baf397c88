"""The errors of the frameworks' validation, as `ApiError`."""

from collections.abc import Iterator
from typing import Any

from django.core.exceptions import ValidationError as DjangoValidationError
from rest_framework.exceptions import ValidationError
from rest_framework.serializers import as_serializer_error
from rest_framework.settings import api_settings

from cartsvc.request_errors import ApiError, InvalidValue


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
                # A serializer of ours has pointers for names.
                parts = () if name == api_settings.NON_FIELD_ERRORS_KEY else name.split("/")
                yield from _flat(inner, *place, *filter(None, parts))
        case list():
            for inner in detail:
                yield from _flat(inner, *place)
        case _:
            told = InvalidValue(str(detail), field=place)
            told.code = detail.code
            yield told
