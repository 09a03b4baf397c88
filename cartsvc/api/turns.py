"""Large requests take turns: a process works on one at a time.

A large body takes tens of thousands of steps under the interpreter's lock, and so does a large
answer. Several at once would slow small requests down by as many times. How long the one whose
turn it is keeps the lock from them is `SWITCH_INTERVAL` in `cartsvc.operations.server`.
"""

from collections.abc import Hashable
from threading import BoundedSemaphore, Lock, local
from time import monotonic
from typing import Never

from django.conf import settings

from cartsvc.db.database_url import REQUEST_SECONDS
from cartsvc.db.deadlines import start_clock
from cartsvc.errors import Unavailable

# A body of more bytes, and an answer of more objects, is large.
LARGE_BYTES = 64 * 1024
LARGE_OBJECTS = 1000

# So many threads work on something large or wait for their turn. One is left for the rest.
_places = BoundedSemaphore(max(1, settings.THREADS - 1))
_turn = Lock()
# Each of those before may have to wait for a database that has stopped answering. So waiting for
# the turn takes from the time that the database has for the request.
PATIENCE_SECONDS = REQUEST_SECONDS

# What was large when it was last read, so that its next reader waits before the database works.
_large: dict[Hashable, None] = {}
MOST_REMEMBERED = 10_000
_remembering = Lock()


class _Thread(local):
    """Whether a thread has the turn."""

    has_turn = False


_thread = _Thread()


def end() -> None:
    """Pass the turn on, if this thread had it."""
    if _thread.has_turn:
        _thread.has_turn = False
        _turn.release()
        _places.release()


def expect(size: int) -> None:
    """Refuse a large body before it is read, if every place is taken.

    Raises:
        Refusal: `unavailable`.
    """
    if size > LARGE_BYTES:
        _take_place()
        # Do not keep the place: the body may arrive slowly.
        _places.release()


def take_turn(size: int) -> None:
    """Wait for the turn, if the body that has arrived is large.

    Raises:
        Refusal: `unavailable`, when every place is taken.
    """
    if size > LARGE_BYTES:
        _wait_for_turn()


def expect_read(key: Hashable) -> None:
    """Wait for the turn, if what `key` names was large when it was last read.

    Raises:
        Refusal: `unavailable`, when every place is taken.
    """
    if key in _large:
        _wait_for_turn()


def take_turn_of_read(key: Hashable, objects: int) -> None:
    """Wait for the turn, if many objects have been read, and remember whether they were many.

    Raises:
        Refusal: `unavailable`, when every place is taken.
    """
    with _remembering:
        _large.pop(key, None)
        if objects <= LARGE_OBJECTS:
            return
        _large[key] = None
        if len(_large) > MOST_REMEMBERED:
            del _large[next(iter(_large))]
    _wait_for_turn()


def _wait_for_turn() -> None:
    if _thread.has_turn:
        return
    _take_place()
    if not _turn.acquire(blocking=False):
        patience = max(0, start_clock(PATIENCE_SECONDS) - monotonic())
        if not _turn.acquire(timeout=patience):
            _places.release()
            _refuse()
    _thread.has_turn = True


def _take_place() -> None:
    if not _places.acquire(blocking=False):
        _refuse()


def _refuse() -> Never:
    raise Unavailable("Too many large requests have come at once. Try again.")
