"""NOT_SENT stands for a member or claim that is not sent at all. None is sent as null."""

from typing import Any
from unittest.mock import sentinel

NOT_SENT: Any = sentinel.NOT_SENT


def sent(values: dict[str, Any]) -> dict[str, Any]:
    """Return the values without those that are NOT_SENT."""
    return {name: value for name, value in values.items() if value is not NOT_SENT}
