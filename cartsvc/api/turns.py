"""Large bodies take turns: one at a time in a process is parsed, checked and written.

Each takes tens of thousands of steps under the interpreter's lock. Several at once would
slow small requests down by as many times.
"""

from threading import BoundedSemaphore, Lock

from django.conf import settings
from django.http import HttpRequest

from cartsvc.api.problems import UNAVAILABLE

LARGE_BYTES = 64 * 1024

# At most half of the threads work on a large body or wait for their turn.
_places = BoundedSemaphore(max(1, settings.THREADS // 2))
_turn = Lock()

# The key in request.META that marks the request whose turn it is.
TURN = "cartsvc.turn"


def expect(size: int) -> None:
    """Refuse a large body before it is read, if every place is taken.

    Raises:
        Refused: `unavailable`.
    """
    if size > LARGE_BYTES:
        _take_place()
        # Do not keep the place: the body may arrive slowly.
        _places.release()


def take_turn(request: HttpRequest, size: int) -> None:
    """Wait for the turn, if the body that has arrived is large. Call `end_turn` afterwards.

    Raises:
        Refused: `unavailable`, when every place is taken.
    """
    if size <= LARGE_BYTES:
        return
    _take_place()
    _turn.acquire()
    request.META[TURN] = True


def end_turn(request: HttpRequest) -> None:
    """Pass the turn on, if this request had it."""
    if request.META.pop(TURN, False):
        _turn.release()
        _places.release()


def _take_place() -> None:
    if not _places.acquire(blocking=False):
        UNAVAILABLE.refuse("Too many large bodies have come at once. Try again.")
