"""Keys made by the application: UUIDv7, so that the order of the keys is the order of creation."""

from datetime import datetime
from uuid import UUID


def first_key_at(moment: datetime) -> UUID:
    """Return the lowest key that can be made at that moment: keys begin with milliseconds."""
    return UUID(int=max(0, int(moment.timestamp() * 1000)) << 80)
