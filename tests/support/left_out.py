"""LEFT_OUT stands for a member or claim that is not sent at all. None is sent as null."""

from typing import Any


class _LeftOut:
    def __repr__(self) -> str:  # part of tests' ids, so it must be the same in every process
        return "LEFT_OUT"


LEFT_OUT: Any = _LeftOut()


def sent(values: dict[str, Any]) -> dict[str, Any]:
    """Return the values without those that are LEFT_OUT."""
    return {name: value for name, value in values.items() if value is not LEFT_OUT}
