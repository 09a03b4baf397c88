"""The one queue: what one caller may hold of this process at once.

A caller is a bearer, a member of staff, or, at the desk, a stranger's network. His bodies arrive
in half of the threads at most, and everybody's in all but one: whoever sends slowly leaves a
thread to the others. What has arrived is worked on one at a time for each caller: a body is read
and validated, a page made, a password checked. Python runs one thread at a time, so a caller loses
nothing by it, and the others do not wait for all that he has sent at once.

Who comes next waits as long as the caller's requests go on. If none of them has for a while, they
are large or stand still, and the next is refused at once. So quick ones wait for each other, and
slow ones do not take thread after thread.

The API waits for the database outside of this: a row that is held is no reason to refuse a body.
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

# Since so long none of a caller's requests has gone on when the next is refused. A program tries
# again by itself, a person does not.
PROGRAM_SECONDS = 0.05
PERSON_SECONDS = 1

# As long as the database has for one request.
REQUEST_SECONDS = settings.DB_STATEMENT_TIMEOUT + 1 if settings.DB_STATEMENT_TIMEOUT else inf


class Queue:
    """Threads of this process, of which each caller may hold so many, and all so many together."""

    def __init__(self, each: int, everyone: float = inf) -> None:
        self.each, self.everyone = each, everyone
        self._held: Counter[str] = Counter()
        self._went_on: dict[str, float] = {}  # when each of them got his last thread
        self._freed = Condition()

    @contextmanager
    def thread_of(self, caller: str, patience: float) -> Iterator[None]:
        """Hold this thread for the caller, once he may hold one more.

        Waiting counts against the request's time.

        Raises:
            Unavailable: none of the caller's requests has gone on for `patience` seconds.
        """
        with self._freed:
            self._wait(caller, patience)
            self._held[caller] += 1
            self._went_on[caller] = monotonic()
        try:
            yield
        finally:
            with self._freed:
                self._held[caller] -= 1
                if not self._held[caller]:
                    del self._held[caller], self._went_on[caller]
                self._freed.notify_all()

    def _wait(self, caller: str, patience: float) -> None:
        came = monotonic()
        while self._held[caller] >= self.each or self._held.total() >= self.everyone:
            end = min(self._went_on.get(caller, came) + patience, start_clock(REQUEST_SECONDS))
            if monotonic() >= end:
                raise Unavailable("Too many requests have come at once. Try again.")
            self._freed.wait(end - monotonic())


ARRIVING = Queue(each=max(1, settings.THREADS // 2), everyone=max(1, settings.THREADS - 1))
WORKING = Queue(each=1)
