"""LEFT_OUT stands for a member or claim that is not sent at all. None is sent as null."""

from typing import Any
from unittest.mock import sentinel

LEFT_OUT: Any = sentinel.LEFT_OUT


def sent(values: dict[str, Any]) -> dict[str, Any]:
    """Return the values without those that are LEFT_OUT."""
    return {name: value for name, value in values.items() if value is not LEFT_OUT}
