"""What work costs, counted in calls: the same however busy the machine is."""

import sys
from collections.abc import Callable
from typing import Any


def count_calls(function: Callable[[], Any]) -> tuple[int, Any]:
    """Return how many calls the function makes, and what it returns."""
    count = 0

    def counted(_frame: Any, event: str, _argument: Any) -> None:
        nonlocal count
        count += event in {"call", "c_call"}

    sys.setprofile(counted)
    try:
        returned = function()
    finally:
        sys.setprofile(None)
    return count, returned
