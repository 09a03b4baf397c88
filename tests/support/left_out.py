"""The one way to say that a member or a claim is not sent at all; None is sent as null."""

from typing import Any


class _LeftOut:
    def __repr__(self) -> str:  # the same in every process: ids of tests are made of it
        return "LEFT_OUT"


LEFT_OUT: Any = _LeftOut()


def sent(values: dict[str, Any]) -> dict[str, Any]:
    """Return the values without those that are left out."""
    return {name: value for name, value in values.items() if value is not LEFT_OUT}
