"""What one member of staff, and strangers, may hold of a process with pages and forms."""

import logging
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from http.client import HTTPConnection
from itertools import chain
from typing import Any
from urllib.parse import urlsplit

import pytest
import requests
from django.contrib.auth.hashers import Argon2PasswordHasher
from django.contrib.auth.models import User
from django.template.response import TemplateResponse
from django.test import Client
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from cartsvc.concurrency_limit import COMPUTING, RECEIVING
from tests.desk.conftest import CARTS, LOGIN, member, sign_in, staff
from tests.support.concurrency import together
from tests.support.programs import wait_until
from tests.support.table_contents import Unchanged

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a slow machine take its time."""
    for limit in (RECEIVING, COMPUTING):
        monkeypatch.setattr(limit, "seconds", 60)


def test_pages_asked_for_at_once_all_come(patient: None) -> None:
    cookies = staff("Cart support lead").cookies

    def ask() -> int:
        browser = Client()
        browser.cookies = cookies
        return browser.get(CARTS).status_code

    assert together([ask] * 6) == [200] * 6


def test_of_six_pages_at_once_each_opens_in_the_end_by_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each takes most of the second that a page waits; here, all is ten times as fast."""
    for limit in (RECEIVING, COMPUTING):
        monkeypatch.setattr(limit, "seconds", 0.1)
    render = TemplateResponse.render

    def slowly(page: TemplateResponse) -> Any:
        time.sleep(0.08)
        return render(page)

    monkeypatch.setattr(TemplateResponse, "render", slowly)
    cookies = staff("Cart support").cookies

    def ask() -> list[int]:
        """Do as a browser does that is told to ask again."""
        browser, statuses = Client(), list[int]()
        browser.cookies = cookies
        while 200 not in statuses:
            page = browser.get(f"{CARTS}?q=naan")
            statuses.append(page.status_code)
            if page.status_code == 503:
                assert "This one opens by itself in a few seconds." in page.text
                time.sleep(int(page.headers["Refresh"]) / 10)
        return statuses

    asked = together([ask] * 6)
    assert {*chain(*asked)} == {200, 503}


def test_tabs_that_are_refused_together_do_not_ask_together_again(
    monkeypatch: pytest.MonkeyPatch, unchanged: Unchanged
) -> None:
    monkeypatch.setattr(COMPUTING, "seconds", 0)
    client = staff("Cart support agent")
    with COMPUTING.seat_for(f"staff {User.objects.get().pk}"):
        assert len({client.get(CARTS).headers["Refresh"] for _ in range(20)}) > 1
        form = client.post(f"{CARTS}channels/")
    # A form is not sent again by itself.
    assert form.status_code == 503
    assert "Refresh" not in form.headers
    assert "This one was not opened, and nothing was changed." in form.text


@contextmanager
def stalled(url: str, network: str, path: str = LOGIN) -> Iterator[None]:
    """Send the head of a form, and nothing of the form."""
    with closing(HTTPConnection(urlsplit(url).netloc, timeout=10)) as connection:
        connection.putrequest("POST", path)
        connection.putheader("X-Forwarded-For", network)
        connection.putheader("Content-Type", "application/x-www-form-urlencoded")
        connection.putheader("Content-Length", "100")
        connection.endheaders()
        yield


def attempt(url: str, network: str) -> requests.Response:
    """Send a form without a CSRF token: a page refuses it, if it is read at all."""
    with requests.Session() as session:
        session.trust_env = False
        headers = {"X-Forwarded-For": network, "Connection": "close"}
        return session.post(f"{url}{LOGIN}", {"username": "a"}, headers=headers, timeout=60)


@pytest.mark.parametrize("path", [LOGIN, "/docs"])
def test_a_network_whose_forms_stand_still_reads_why_it_is_refused(
    live_server: LiveServer,
    settings: Settings,
    caplog: pytest.LogCaptureFixture,
    unchanged: Unchanged,
    path: str,
) -> None:
    caplog.set_level(logging.INFO)
    near, far = "192.0.2.1", "198.51.100.1"
    with ExitStack() as stack:
        for _ in range(settings.THREADS // 2):
            stack.enter_context(stalled(live_server.url, near, path))
        wait_until(lambda: attempt(live_server.url, near).status_code == 503)
        caplog.clear()

        refused = attempt(live_server.url, near)

        assert refused.status_code == 503
        assert refused.headers["Retry-After"] == "1"
        assert refused.headers["Content-Type"] == "text/html; charset=utf-8"
        assert refused.headers["X-Frame-Options"] == "DENY"
        assert "default-src 'none'" in refused.headers["Content-Security-Policy"]
        assert "Too many pages at once" in refused.text
        assert '<a href="">Try again</a>' in refused.text
        told = [record for record in caplog.records if record.name != "django.server"]
        assert [record.levelname for record in told] == ["INFO"]
        assert attempt(live_server.url, far).status_code == 403
    wait_until(lambda: attempt(live_server.url, near).status_code == 403)


def test_a_form_that_does_not_arrive_whole_is_no_error_of_ours(
    live_server: LiveServer, caplog: pytest.LogCaptureFixture, unchanged: Unchanged
) -> None:
    with stalled(live_server.url, "192.0.2.1"):
        pass
    wait_until(lambda: attempt(live_server.url, "192.0.2.1").status_code == 403)
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []


def test_staff_get_in_while_strangers_try(
    patient: None, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All strangers are one caller: a process looks at one password at a time."""
    member("anna")
    verify, under_way, at_once = Argon2PasswordHasher.verify, list[str](), set[int]()

    def slowly(*args: Any) -> bool:
        under_way.append("")
        at_once.add(len(under_way))
        time.sleep(0.02)
        under_way.pop()
        return verify(*args)

    monkeypatch.setattr(Argon2PasswordHasher, "verify", slowly)

    def strangers(first: int) -> list[int]:
        return [sign_in(Client(REMOTE_ADDR=f"192.0.2.{n}"), "wrong") for n in range(first, 14, 3)]

    def anna() -> list[int]:
        return [sign_in(Client(REMOTE_ADDR="198.51.100.1")) for _ in range(4)]

    # As many at once as a process has threads.
    *refused, let_in = together([*(partial(strangers, first) for first in range(3)), anna])

    assert [status for statuses in refused for status in statuses] == [200] * 14
    assert let_in == [302] * 4
    assert at_once == {1}
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []
