"""A clock that stands still, for tests of what happens after a time."""

import time


class Clock:
    """Replaces time.monotonic in the service. The time stands still until a test advances it."""

    def __init__(self) -> None:
        self.now = time.monotonic()

    def __call__(self) -> float:
        return self.now
