import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from django.http import HttpRequest, HttpResponse
from django.test import Client
from django.urls import path
from pytest_django import Settings

from cartsvc.operations.logs import LineFormatter, RequestId, _pseudonym_key, pseudonym
from tests.support import bodies
from tests.support.answers import error
from tests.support.callers import Api


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    """Return the stream that gets what the service writes to stdout in production."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(LineFormatter())
    handler.addFilter(RequestId())
    logging.getLogger().addHandler(handler)
    yield stream
    logging.getLogger().removeHandler(handler)


def lines(log: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.getvalue().splitlines()]


def test_a_refusal_is_one_line_not_two(api: Api, log: io.StringIO) -> None:
    assert api.post("", {}).status_code == 400
    (line,) = lines(log)
    assert (line["logger"], line["status"]) == ("cartsvc.access", 400)


def defect(request: HttpRequest) -> HttpResponse:
    raise RuntimeError("a defect")


urlpatterns = [path("v2.0/defect", defect), path("admin/defect", defect)]


@pytest.mark.urls("tests.service.test_logs")
def test_an_unexpected_error_is_logged_with_its_traceback_and_id(log: io.StringIO) -> None:
    response = Client(headers={"X-Request-ID": "trace-me-2"}).get("/v2.0/defect")
    assert response.status_code == 500
    assert response.json() == error("internal_error", "Something went wrong on our side.")
    assert response["X-Request-ID"] == "trace-me-2"
    unexpected, access = lines(log)
    assert (unexpected["level"], access["status"]) == ("ERROR", 500)
    assert "RuntimeError: a defect" in unexpected["exc_info"]
    assert unexpected["request_id"] == access["request_id"] == "trace-me-2"


@pytest.mark.urls("tests.service.test_logs")
def test_an_error_of_a_page_is_logged_by_django_and_shows_nothing(log: io.StringIO) -> None:
    response = Client(raise_request_exception=False).get("/admin/defect")
    assert response.status_code == 500
    assert b"RuntimeError" not in response.content
    (line,) = lines(log)
    assert line["logger"] == "django.request"
    assert line.keys() == {"level", "logger", "message", "exc_info", "time"}
    assert "RuntimeError: a defect" in line["exc_info"]


@pytest.mark.parametrize("forged", ["x\r\n{}", 'a"} {"status": 500', "\x1b[2J", "\u2028"])
def test_what_a_caller_sends_cannot_forge_a_line(db: None, log: io.StringIO, forged: str) -> None:
    api = Api(sub=f"till {forged}")
    response = api.post("", bodies.cart(note="x"), X_Request_ID=forged.replace("\r\n", ""))
    (line,) = lines(log)
    # A token whose sub has a control character is refused, so the line names no bearer.
    bearer = pseudonym(f"till {forged}") if response.status_code == 200 else None
    assert (line["status"], line.get("bearer")) == (response.status_code, bearer)
    assert forged not in log.getvalue()


def test_a_pseudonym_is_the_same_each_time() -> None:
    assert pseudonym("a") == pseudonym("a") != pseudonym("b")
    assert len(pseudonym("\ud800")) == 16


def test_a_pseudonym_depends_on_the_secret_key(settings: Settings) -> None:
    ours = pseudonym("a")
    settings.SECRET_KEY = "another secret key"
    _pseudonym_key.cache_clear()
    try:
        assert pseudonym("a") != ours
    finally:
        _pseudonym_key.cache_clear()
