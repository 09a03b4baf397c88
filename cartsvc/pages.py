"""What HTML pages have in addition to Django's own: middleware, and answers to errors."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from threading import BoundedSemaphore, Lock
from weakref import WeakValueDictionary
from zoneinfo import ZoneInfo

from django.conf import settings
from django.contrib.auth import SESSION_KEY
from django.core.exceptions import ValidationError
from django.db import DatabaseError, DataError
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone

from cartsvc.db.errors import is_outage
from cartsvc.proxies import client_network

# What an address of Django's own pages raises that names, for example, the year 0.
UNREADABLE = (ValidationError, ValueError, OverflowError, DataError)


class ViewerTimeZone:
    """Shows and reads times in the time zone that the browser names in a cookie."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        try:
            zone = ZoneInfo(request.COOKIES.get("timezone", "UTC"))
        except (KeyError, ValueError, OSError):  # an unknown zone, or not the name of one
            zone = ZoneInfo("UTC")
        with timezone.override(zone):
            return self.get_response(request)


class NoStore:
    """Keeps browsers and proxies from storing pages, because they show customers' data."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        response.headers.setdefault("Cache-Control", "no-store")
        return response


class Turns:
    """How far somebody's requests to the desk are: one is worked on, and a few more wait."""

    def __init__(self) -> None:
        self.places = BoundedSemaphore(max(1, settings.THREADS // 2))
        self.turn = Lock()


# Those of each user, or network of strangers, who asks the desk for something just now.
_turns: WeakValueDictionary[str, Turns] = WeakValueDictionary()
_finding = Lock()


class DeskTurns:
    """Middleware that works on one page of the desk at a time for each user.

    A page is up to tens of milliseconds of work under the interpreter's lock. Whoever asks for
    many at once would slow everybody else down by as many times. Strangers, who can ask to sign
    in, are told apart by their networks.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not request.path.startswith(reverse("admin:index")):
            return self.get_response(request)
        # Not the session's key, because a user may have many.
        user = request.session.get(SESSION_KEY)
        with place_of(user or client_network(request) or "strangers") as taken:
            if taken:
                return self.get_response(request)
        return HttpResponse(_page_of(429), status=429, headers={"Retry-After": "1"})


def failed(request: HttpRequest) -> HttpResponse:
    """Answer for a page that raised (Django's `handler500`): 503, 400 or 500.

    Django's own pages do not validate all that an address may hold.
    """
    error = sys.exc_info()[1]
    if isinstance(error, DatabaseError) and is_outage(error):
        return HttpResponse(_page_of(503), status=503, headers={"Retry-After": "1"})
    if request.method == "GET" and isinstance(error, UNREADABLE):
        return HttpResponse(_page_of(400), status=400)
    return HttpResponse(_page_of(500), status=500)


@contextmanager
def place_of(caller: str) -> Iterator[bool]:
    """Wait for the caller's turn in this process. Yield False at once if too many wait already."""
    with _finding:
        turns = _turns.setdefault(caller, Turns())
    if not turns.places.acquire(blocking=False):
        yield False
        return
    try:
        with turns.turn:
            yield True
    finally:
        turns.places.release()


@cache  # making the page takes longer than all else that a refusal does
def _page_of(status: int) -> str:
    # Without the request, which would ask the database for the user's name.
    return render_to_string(f"{status}.html")
