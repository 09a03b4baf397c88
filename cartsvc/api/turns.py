"""Large bodies take turns: one at a time in a process is parsed, checked and written.

Each is tens of thousands of steps under the interpreter's lock. Several at once would take
it from small requests as often as there are threads, whoever sends them.
"""

from threading import BoundedSemaphore, Lock

from django.conf import settings
from django.http import HttpRequest

from cartsvc.api.problems import UNAVAILABLE

LARGE_BYTES = 64 * 1024

# Half of the threads may be at a large body or wait for their turn: others need the rest.
_places = BoundedSemaphore(max(1, settings.THREADS // 2))
_turn = Lock()

# Where a request keeps that it has the turn.
TURN = "cartsvc.turn"


def expect(size: int) -> None:
    """Refuse a large body before it is read, if as many wait already as may.

    Raises:
        Refused: `unavailable`.
    """
    if size > LARGE_BYTES:
        _take_place()
        # Not kept: a body may arrive slowly, and its sender shall hold nobody up.
        _places.release()


def take_turn(request: HttpRequest, size: int) -> None:
    """Wait for the turn if the body, which has arrived, is large; `end_turn` must follow.

    Raises:
        Refused: `unavailable`, because as many wait already as may.
    """
    if size <= LARGE_BYTES:
        return
    _take_place()
    _turn.acquire()
    request.META[TURN] = True


def end_turn(request: HttpRequest) -> None:
    """Let the next large body be worked on, if it was this request's turn."""
    if request.META.pop(TURN, False):
        _turn.release()
        _places.release()


def _take_place() -> None:
    if not _places.acquire(blocking=False):
        UNAVAILABLE.refuse("Too many large bodies have come at once. Try again.")
