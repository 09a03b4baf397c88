"""One page of the desk at a time for each user, and for strangers from one network."""

from collections.abc import Callable
from contextlib import ExitStack
from threading import Event, Thread
from typing import Any

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.test import Client, RequestFactory

from carts.models import Cart
from cartsvc import pages
from tests.desk.conftest import CARTS, form_of, item_page
from tests.support.programs import wait_until


def key_of(username: str) -> str:
    """Return what a session calls the user."""
    return str(User.objects.get(username=username).pk)


def every_place(stack: ExitStack, caller: str, settings: Any) -> None:
    """Take all places of a caller, as requests that are under way have them."""
    turns = pages._turns.setdefault(caller, pages.Turns())
    for _ in range(settings.THREADS // 2):
        assert turns.places.acquire(blocking=False)
        stack.callback(turns.places.release)
    stack.callback(len, [turns])  # keeps it


def test_who_asks_for_too_much_at_once_reads_why(
    viewer: Client, lead: Client, settings: Any, django_assert_num_queries: Any
) -> None:
    with ExitStack() as stack:
        every_place(stack, key_of("ben"), settings)
        with django_assert_num_queries(1):  # the session
            refused = viewer.get(CARTS)
        assert lead.get(CARTS).status_code == 200

    assert refused.status_code == 429
    assert refused.headers["Retry-After"] == "1"
    assert "Too many pages at once" in refused.text
    assert '<a href="">Try again</a>' in refused.text
    assert '<a href="/admin/">back to the start</a>' in refused.text
    assert refused.headers["Content-Type"] == "text/html; charset=utf-8"
    assert refused.headers["Cache-Control"] == "no-store"
    assert refused.headers["X-Frame-Options"] == "DENY"
    assert "default-src 'none'" in refused.headers["Content-Security-Policy"]
    assert viewer.get(CARTS).status_code == 200


def test_a_refused_change_changes_nothing(
    lead: Client, cart: Cart, settings: Any, unchanged: Callable[[], None]
) -> None:
    page = item_page(cart)
    sent = {**form_of(lead, page), "quantity": "8"}
    unchanged()
    with ExitStack() as stack:
        every_place(stack, key_of("anna"), settings)
        answers = [lead.post(path, sent) for path in (page, f"{page}remove/", "/admin/logout/")]
    assert [answer.status_code for answer in answers] == [429] * 3


def test_all_sessions_of_a_user_have_one_turn(viewer: Client, settings: Any) -> None:
    other = Client()
    other.force_login(User.objects.get(username="ben"))
    with ExitStack() as stack:
        every_place(stack, key_of("ben"), settings)
        assert [client.get(CARTS).status_code for client in (viewer, other)] == [429, 429]


def test_strangers_from_one_network_have_one_turn(
    viewer: Client, settings: Any, unchanged: Callable[[], None]
) -> None:
    unchanged()
    near, far = ({"X-Forwarded-For": address} for address in ("192.0.2.1", "198.51.100.1"))
    sign_in = {"username": "ben", "password": "wrong"}
    with ExitStack() as stack:
        every_place(stack, "192.0.2.1", settings)
        for path in ("/admin/", "/admin/login/", CARTS):
            assert Client(headers=near).get(path).status_code == 429
        assert Client(headers=near).post("/admin/login/", sign_in).status_code == 429
        assert Client(headers=far).get("/admin/login/").status_code == 200
        assert viewer.get(CARTS, headers=near).status_code == 200


def test_strangers_whose_network_is_not_known_have_one_turn(db: None, settings: Any) -> None:
    with ExitStack() as stack:
        every_place(stack, "strangers", settings)
        assert Client().get("/admin/login/").status_code == 429


def test_nothing_else_waits(viewer: Client, settings: Any) -> None:
    with ExitStack() as stack:
        every_place(stack, key_of("ben"), settings)
        for path in ("/static/carts/desk.css", "/docs", "/healthz", "/v2.0/openapi.json"):
            answer = viewer.get(path)
            assert answer.status_code == 200
            b"".join(answer)  # closes the file
        assert Client().get(CARTS).status_code == 302  # strangers are sent to sign in


def test_one_at_a_time(rf: RequestFactory, settings: Any) -> None:
    under_way: list[HttpRequest] = []
    may_go_on = Event()

    def page(request: HttpRequest) -> HttpResponse:
        under_way.append(request)
        assert may_go_on.wait(60)
        return HttpResponse()

    desk = pages.DeskTurns(page)

    def asks(user: str) -> Thread:
        request = rf.get(CARTS)
        request.session = {pages.SESSION_KEY: user}
        thread = Thread(target=desk, args=[request])
        thread.start()
        return thread

    places = settings.THREADS // 2
    turns = pages._turns.setdefault("1", pages.Turns())
    threads = [asks("1") for _ in range(places)]
    wait_until(lambda: turns.places._value == 0 and len(under_way) == 1)
    threads.append(asks("2"))
    wait_until(lambda: len(under_way) == 2)
    may_go_on.set()
    for thread in threads:
        thread.join(60)
    assert len(under_way) == places + 1


def test_nothing_is_kept_of_those_who_ask_for_nothing(viewer: Client) -> None:
    assert viewer.get(CARTS).status_code == 200
    assert not pages._turns
