"""UUIDv7 keys, made by the application. Sorting by key sorts by creation."""

from datetime import datetime
from uuid import UUID


def first_key_at(moment: datetime) -> UUID:
    """Return the lowest key that can be made at `moment`. Keys begin with its milliseconds."""
    return UUID(int=max(0, int(moment.timestamp() * 1000)) << 80)
