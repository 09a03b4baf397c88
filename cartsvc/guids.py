"""GUIDs, as paths and bodies have them."""

import re
from collections.abc import Mapping
from uuid import UUID

from django.urls.converters import StringConverter

from cartsvc.member_names import camel_case
from cartsvc.request_errors import ApiErrors, InvalidGuid

GUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII | re.IGNORECASE)


def parse_guid(text: str) -> UUID | None:
    """Return the UUID if `text` is 8-4-4-4-12 hex digits, in either case, and None otherwise."""
    return UUID(text) if GUID.fullmatch(text) else None


class GuidConverter(StringConverter):
    """Takes any part of a path. `check_guids` raises an error for what is no GUID, in its turn."""

    def to_python(self, value: str) -> UUID | str:  # type: ignore[override]
        return UUID(value) if GUID.fullmatch(value) else value


def check_guids(keys: Mapping[str, UUID | str]) -> None:
    if wrong := [camel_case(name) for name, key in keys.items() if not isinstance(key, UUID)]:
        raise ApiErrors([InvalidGuid(name=name, field=name) for name in wrong])
