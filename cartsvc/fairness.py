"""The one queue: what one caller may hold of this process at once.

A caller is a bearer, a member of staff, or, at the desk, a stranger's network. Bodies of one caller
arrive in at most half of the threads, and those of all callers in all but one: whoever sends slowly
leaves a thread to the others. What has arrived is worked on one at a time for each caller: a body
is read and validated, a page is made, a password is checked. Python runs one thread at a time, so
the caller loses nothing by it, and the others do not wait for all that it has sent at once.

The database is asked outside of that, so a row that is held is no reason to refuse a body. But all
changes that a caller has under way leave a thread, because a held row may stop each of them.

A request waits for its place, and holds its thread meanwhile. It is refused when none of the
caller's requests has started for a while: those running are then large, or stand still.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from math import inf
from threading import Condition
from time import monotonic

from django.conf import settings

from cartsvc.db.deadlines import start_clock
from cartsvc.errors import Unavailable

# A request is refused when none of the caller's has started for so long. A program tries again by
# itself, a person does not. A slow COMMIT is no reason to refuse a change.
PROGRAM_SECONDS = 0.05
CHANGE_SECONDS = 0.5
PERSON_SECONDS = 1
# One more wait before a refusal: on a busy machine, this process may not have run meanwhile.
LAST_LOOK_SECONDS = 0.01


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
            Unavailable: none of the caller's requests has started for `patience` seconds, or the
                request's own time is up, against which waiting counts.
        """
        arrived, last_look = monotonic(), False
        with self._freed:
            while self._held[caller] >= self.each or self._held.total() >= self.everyone:
                patient_until = self._last_start.get(caller, arrived) + patience
                left = min(patient_until, start_clock()) - monotonic()
                if left <= 0 and last_look:
                    raise Unavailable("Too many requests have come at once. Try again.")
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
