"""The concurrency limit: how many threads of this process one caller may hold at once.

A caller is a bearer's `sub` with its `profileKey`, a member of staff, or the network of a stranger
at the desk. There is a limit for each of the three things that a request may do for long:

- `RECEIVING` a body, which may come slowly.
- `COMPUTING`: a body is validated, a page is made, or a password is checked. Python runs one thread
  at a time, so a caller with one seat loses nothing. Or all carts of a customer are sorted.
- `WAITING` for the database, which may stand still, or for a locked row. A caller's changes, its
  reads and all pages count as callers of their own. The server has two threads more: one answers
  what needs no database, and refuses; one is for `/readyz` (`CHECKING`).

An operation holds no seat of the first two while the database waits for a lock. A page does.
"""

from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from math import inf
from threading import Condition
from time import monotonic

from django.conf import settings

from cartsvc.db.time_limits import request_deadline
from cartsvc.request_errors import Unavailable

Seat = tuple[float, Hashable]  # when it was taken, and whose it is


class Busy(Unavailable):
    """Too many requests of callers, and no outage: metrics tell the two apart."""


class ConcurrencyLimit:
    def __init__(self, per_caller: int, total: float = inf, seconds: float = 1) -> None:
        self.per_caller, self.total, self.seconds = per_caller, total, seconds
        self._taken: list[Seat] = []
        self._freed = Condition()

    @contextmanager
    def seat_for(self, caller: Hashable) -> Iterator[None]:
        """Hold a seat for the caller.

        Raise Busy if it has waited for `seconds`; if nobody has got a seat for so long, and waiting
        would only take a thread from others; or if the request's own time is up.
        """
        arrived = monotonic()
        with self._freed:
            while (full_since := self._full_since(caller)) is not None:
                latest = min(arrived, full_since) + self.seconds
                left = min(latest, request_deadline()) - monotonic()
                if left <= 0:
                    raise Busy("Too many requests have come at once. Try again.")
                self._freed.wait(left)
            seat = monotonic(), caller
            self._taken.append(seat)
        try:
            yield
        finally:
            with self._freed:
                self._taken.remove(seat)
                self._freed.notify_all()

    def _full_since(self, caller: Hashable) -> float | None:
        # The seat that was taken last has filled the limit.
        callers = [moment for moment, holder in self._taken if holder == caller]
        if len(callers) >= self.per_caller:
            return callers[-1]
        return self._taken[-1][0] if len(self._taken) >= self.total else None


# A body that is there is received in milliseconds. One that is not may stand still, and so would
# the threads that wait for it.
RECEIVING = ConcurrencyLimit(
    per_caller=max(1, settings.THREADS // 2), total=max(1, settings.THREADS - 1), seconds=0.2
)
COMPUTING = ConcurrencyLimit(per_caller=1)
WAITING = ConcurrencyLimit(per_caller=max(1, settings.THREADS - 1), total=settings.THREADS)
CHECKING = ConcurrencyLimit(per_caller=1)
