import os
from contextlib import ExitStack
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from pytest_django import DjangoAssertNumQueries, Settings

from cartsvc import __version__
from cartsvc.api import health
from cartsvc.concurrency_limit import CHECKING, WAITING
from cartsvc.serving.drain import DRAINING

ELSEWHERE = {"Host": "10.1.2.3:8000"}


@pytest.fixture(autouse=True)
def fresh() -> None:
    health.MIGRATED.clear()


def test_the_process_answers_without_a_database() -> None:
    # Without the `db` fixture any query fails the test.
    response = Client(headers=ELSEWHERE).get("/healthz")
    assert (response.status_code, response.json()) == (
        200,
        {"status": "ok", "version": __version__},
    )
    # A cached answer would say nothing about the present.
    assert response["Cache-Control"] == "no-store"


def test_ready_costs_one_statement(
    db: None, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    client = Client(headers=ELSEWHERE)
    assert client.get("/readyz").json() == {"status": "ok"}
    with django_assert_num_queries(1):  # whether it only reads
        assert client.get("/readyz").status_code == 200


@pytest.mark.skipif(connection.vendor != "sqlite", reason="a server tells what it only reads")
def test_a_file_that_may_only_be_read_takes_no_changes(
    db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    may = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK and may(path, mode))
    response = Client(headers=ELSEWHERE).get("/readyz")
    assert (response.status_code, response.json()) == (503, {"status": "database read-only"})


def test_one_check_at_a_time_waits_for_the_database() -> None:
    """The others take no thread from those who need none. Any query fails the test."""
    with CHECKING.seat_for("/readyz"), CHECKING.seat_for("/healthz"):
        response = Client().get("/readyz")
        assert Client().get("/healthz").status_code == 200
    assert (response.status_code, response.json()) == (503, {"status": "database unavailable"})


def test_pages_leave_a_thread_when_all_wait_for_the_database(settings: Settings) -> None:
    with ExitStack() as stack:
        for number in range(settings.THREADS):
            stack.enter_context(WAITING.seat_for(number))
        for cookies in ({}, {"sessionid": "a" * 32}):
            browser = Client()
            browser.cookies.load(cookies)
            page = browser.get("/admin/")
            assert (page.status_code, page["Retry-After"]) == (503, "1")


def test_no_header_of_a_caller_begins_the_drain(db: None) -> None:
    assert Client(headers={DRAINING: "1", "Draining": "1"}).get("/readyz").status_code == 200


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_no_redirect_to_https(db: None, settings: Any, path: str) -> None:
    settings.SECURE_SSL_REDIRECT = True
    assert Client().get(path).status_code == 200
