import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection
from django.http import HttpRequest, HttpResponse
from django.test import Client
from django.urls import path
from pytest_django import Settings

from cartsvc.api import health
from cartsvc.serving.logs import LineFormatter, pseudonym
from tests.support import bodies
from tests.support.answers import error
from tests.support.callers import Api


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    """Return the stream that gets what the service writes to stdout in production."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(LineFormatter())
    logging.getLogger().addHandler(handler)
    yield stream
    logging.getLogger().removeHandler(handler)


def lines(log: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.getvalue().splitlines()]


TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


@pytest.mark.parametrize(
    ("traceparent", "trace"),
    [
        (f"00-{TRACE}-{SPAN}-01", TRACE),
        ("", None),
        (TRACE, None),
        (f"00-{TRACE}-{SPAN}-01-more", None),
        (f"00-{TRACE[:-1]}٣-{SPAN}-01", None),
    ],
)
def test_the_access_line_names_the_trace_of_a_valid_traceparent(
    api: Api, log: io.StringIO, traceparent: str, trace: str | None
) -> None:
    assert api.get(traceparent=traceparent).status_code == 200
    assert [line.get("trace_id") for line in lines(log)] == [trace]


def defect(request: HttpRequest) -> HttpResponse:
    logging.getLogger("elsewhere").warning("a warning")
    raise RuntimeError("a defect")


urlpatterns = [path("v2.0/defect", defect)]


@pytest.mark.parametrize("debug", [False, True], ids=["production", "debug"])
def test_an_unexpected_error_is_logged_with_its_traceback_and_ids(
    log: io.StringIO, settings: Settings, debug: bool
) -> None:
    settings.DEBUG, settings.API_URLCONF = debug, "tests.service.test_logs"
    headers = {"X-Request-ID": "trace-me-2", "traceparent": f"00-{TRACE}-{SPAN}-01"}
    response = Client(headers=headers).get("/v2.0/defect")
    assert response.status_code == 500
    assert response.json() == error("internal_error", "Something went wrong on our side.")
    assert response["X-Request-ID"] == "trace-me-2"
    warning, unexpected, access = lines(log)
    assert (warning["level"], unexpected["level"]) == ("WARNING", "ERROR")
    assert access["status"] == 500
    assert "RuntimeError: a defect" in unexpected["exc_info"]
    for line in warning, unexpected, access:
        assert (line["request_id"], line["trace_id"]) == ("trace-me-2", TRACE)


def test_a_probe_that_fails_is_no_error(db: None, log: io.StringIO) -> None:
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM django_migrations")
    health.MIGRATED.clear()
    assert Client().get("/readyz").json() == {"status": "migrations pending"}
    assert lines(log) == []


@pytest.mark.parametrize("page", ["/", "/docs", "/admin/", "/admin/login/"])
def test_a_page_at_another_host_is_one_short_line(db: None, log: io.StringIO, page: str) -> None:
    response = Client(headers={"Host": "evil.example"}).get(page)
    assert response.status_code == 400
    (line,) = lines(log)
    assert (line["level"], line["message"]) == ("WARNING", "Page refused: 400")
    assert "evil" not in log.getvalue()
    assert len(log.getvalue()) < 250


@pytest.mark.parametrize("forged", ["x\r\n{}", 'a"} {"status": 500', "\x1b[2J", "\u2028"])
def test_what_a_caller_sends_cannot_forge_a_line(db: None, log: io.StringIO, forged: str) -> None:
    api = Api(sub=f"till {forged}")
    response = api.post("", bodies.cart(note="x"), X_Request_ID=forged.replace("\r\n", ""))
    *_, line = lines(log)
    # A token whose sub has a control character is refused, so the line names no bearer.
    bearer = pseudonym(f"till {forged}") if response.status_code == 200 else None
    assert (line["status"], line.get("bearer")) == (response.status_code, bearer)
    assert forged not in log.getvalue()
