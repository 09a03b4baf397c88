"""GUIDs, as paths and bodies have them."""

import re
from uuid import UUID

GUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII | re.IGNORECASE)


def parse_guid(text: str) -> UUID | None:
    """Return the UUID if `text` is 8-4-4-4-12 hex digits, in either case, and None otherwise."""
    return UUID(text) if GUID.fullmatch(text) else None
