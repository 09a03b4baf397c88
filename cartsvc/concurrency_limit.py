"""The concurrency limit: how many threads of this process one caller may hold at once.

A caller is a bearer's `sub` with its `profileKey`, a member of staff, or the network of a stranger
at the desk. There is a limit for each of the three things that a request may do for long:

- `RECEIVING` a body: half of the threads for one caller, all but one for all callers together.
  Whoever sends slowly leaves a thread to the others.
- `COMPUTING`: a body is validated, a page is made, or a password is checked. One thread for each
  caller: Python runs one thread at a time, so the caller loses nothing.
- `CHANGING` a row, which may be locked: all threads but one for each caller.

An operation holds no place of the first two while the database waits for a lock. A page does: a
member of staff opens one at a time.
"""

from collections import Counter
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from math import inf
from threading import Condition
from time import monotonic

from django.conf import settings

from cartsvc.db.deadlines import start_clock
from cartsvc.request_errors import Unavailable

WAIT_SECONDS = 1


class ConcurrencyLimit:
    """At most `each` places for one caller, and `everyone` for all callers together."""

    def __init__(self, each: int, everyone: float = inf) -> None:
        self.each, self.everyone = each, everyone
        self._held: Counter[Hashable] = Counter()
        self._taken_at: dict[Hashable, float] = {}  # when each caller last took a place
        self._freed = Condition()

    @contextmanager
    def place_for(self, caller: Hashable) -> Iterator[None]:
        """Hold a place for the caller. Wait for it as long as places become free.

        Raises:
            Unavailable: none has become free for WAIT_SECONDS, because those who hold them stand
                still. Then nobody waits, because waiting takes a thread from the other callers. Or
                the request's own time is up.
        """
        with self._freed:
            while (full_since := self._full_since(caller)) is not None:
                left = min(full_since + WAIT_SECONDS, start_clock()) - monotonic()
                if left <= 0:
                    raise Unavailable("Too many requests have come at once. Try again.")
                self._freed.wait(left)
            self._held[caller] += 1
            self._taken_at[caller] = monotonic()
        try:
            yield
        finally:
            with self._freed:
                self._held[caller] -= 1
                if not self._held[caller]:
                    del self._held[caller], self._taken_at[caller]
                self._freed.notify_all()

    def _full_since(self, caller: Hashable) -> float | None:
        """Return when the last place was taken, or None if there is one for the caller."""
        if self._held[caller] >= self.each:
            return self._taken_at[caller]
        if self._held.total() >= self.everyone:
            return max(self._taken_at.values())
        return None


RECEIVING = ConcurrencyLimit(
    each=max(1, settings.THREADS // 2), everyone=max(1, settings.THREADS - 1)
)
COMPUTING = ConcurrencyLimit(each=1)
CHANGING = ConcurrencyLimit(each=max(1, settings.THREADS - 1))
