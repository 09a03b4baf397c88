"""GUIDs in paths, token claims and query strings."""

import re
from typing import Any
from uuid import UUID

from django.urls.converters import StringConverter

GUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII | re.IGNORECASE)


def parse_guid(text: str) -> UUID | None:
    """Return the UUID if `text` is 8-4-4-4-12 hex digits, in either case, and None otherwise."""
    return UUID(text) if GUID.fullmatch(text) else None


class GuidConverter(StringConverter):
    """Takes any path segment. `HasScopeAndProfile` refuses those that are no GUIDs, in its turn."""

    def to_python(self, value: str) -> Any:
        return parse_guid(value) or value
