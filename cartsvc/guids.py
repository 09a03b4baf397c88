"""GUIDs, as paths and bodies have them, and the times in those that the service makes."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from uuid import UUID

from django.urls.converters import StringConverter

from cartsvc.member_names import camel_case
from cartsvc.request_errors import ApiErrors, InvalidGuid

GUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII | re.IGNORECASE)

EPOCH = datetime.fromtimestamp(0, UTC)


def parse_guid(text: str) -> UUID | None:
    """Return the UUID if `text` is 8-4-4-4-12 hex digits, in either case, and None otherwise."""
    return UUID(text) if GUID.fullmatch(text) else None


class GuidConverter(StringConverter):
    """Takes any part of a path. `check_guids` raises an error for what is no GUID, in its turn."""

    def to_python(self, value: str) -> UUID | str:  # type: ignore[override]
        return parse_guid(value) or value


def check_guids(keys: Mapping[str, UUID | str]) -> None:
    if wrong := [camel_case(name) for name, key in keys.items() if not isinstance(key, UUID)]:
        raise ApiErrors([InvalidGuid(name=name, field=name) for name in wrong])


def made_at(key: UUID) -> datetime:
    """Return when a UUIDv7 was made, in milliseconds."""
    return EPOCH + timedelta(milliseconds=key.int >> 80)


def first_key_at(moment: datetime) -> UUID:
    """Return the lowest UUIDv7 that can be made then: it begins with its milliseconds."""
    return UUID(int=max(0, int(moment.timestamp() * 1000)) << 80)
