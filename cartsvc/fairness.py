"""The one queue: how many threads of this process one caller may hold at once.

A caller is a bearer, a member of staff, or the network of a stranger at the desk. Three limits
share the queue:

- `ARRIVING`, while a body is received: half of the threads for one caller, all but one for all
  callers together. Whoever sends slowly leaves a thread to the others.
- `WORKING`, while a body is read and validated, a page is made or a password is checked: one thread
  for each caller. Python runs one thread at a time, so the caller loses nothing, and a caller who
  sends much at once does not keep the others waiting.
- `CHANGING`, while a change is under way: all threads but one for each caller, because a locked row
  may stop each of them.

No body is received or read while its request waits for a locked row.

A request waits in its own thread. It is refused when none of its caller's requests has started for
a while: the running ones are then large, or stand still.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from math import inf
from threading import Condition
from time import monotonic

from django.conf import settings

from cartsvc.db.deadlines import start_clock
from cartsvc.request_errors import Unavailable

# For so long none of the caller's requests has started when one is refused.
PROGRAM_SECONDS = 0.05
CHANGE_SECONDS = 0.5  # longer than a slow COMMIT
PERSON_SECONDS = 1  # a program tries again by itself, a person does not
# An error waits once more: the machine may have been too busy to run this process.
LAST_LOOK_SECONDS = 0.01


class Busy(Unavailable):
    """One that is the caller's own: metrics count it apart."""


class Queue:
    """Threads of this process: `each` is the limit of one caller, `everyone` that of all."""

    def __init__(self, each: int, everyone: float = inf) -> None:
        self.each, self.everyone = each, everyone
        self._held: Counter[str] = Counter()
        self._last_start: dict[str, float] = {}
        self._freed = Condition()

    @contextmanager
    def thread_of(self, caller: str, patience: float) -> Iterator[None]:
        """Hold this thread for the caller as soon as its limit allows.

        Raises:
            Busy: none of the caller's requests has started for `patience` seconds, or the
                request's own time is up, against which waiting counts.
        """
        arrived, last_look = monotonic(), False
        with self._freed:
            while self._held[caller] >= self.each or self._held.total() >= self.everyone:
                patient_until = self._last_start.get(caller, arrived) + patience
                left = min(patient_until, start_clock()) - monotonic()
                if left <= 0 and last_look:
                    raise Busy("Too many requests have come at once. Try again.")
                last_look = left <= 0
                self._freed.wait(max(left, LAST_LOOK_SECONDS))
            self._held[caller] += 1
            self._last_start[caller] = monotonic()
        try:
            yield
        finally:
            with self._freed:
                self._held[caller] -= 1
                if not self._held[caller]:
                    del self._held[caller], self._last_start[caller]
                self._freed.notify_all()


ARRIVING = Queue(each=max(1, settings.THREADS // 2), everyone=max(1, settings.THREADS - 1))
WORKING = Queue(each=1)
CHANGING = Queue(each=max(1, settings.THREADS - 1))
