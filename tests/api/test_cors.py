"""Calls from pages of other origins; tests/browser makes them from such a page."""

from collections.abc import Callable
from typing import Any

import pytest
from django.http import HttpRequest, HttpResponse
from django.test import Client
from django.urls import path
from pytest_django import Settings

from cartsvc.serving import logs
from tests.api.clock import Clock
from tests.support import bodies
from tests.support.callers import PROFILE, STRANGER, Api

SHOP = "https://shop.example"
CARTS = f"/v2.0/customers/{PROFILE}/carts"
SENT = {
    *("Authorization", "Content-Type", "If-Match", "If-None-Match", "Idempotency-Key"),
    *("Prefer", "X-Request-ID", "traceparent", "tracestate", "baggage"),
}
READ = {
    *("ETag", "X-Request-ID", "Retry-After", "Idempotent-Replayed", "Preference-Applied"),
}


@pytest.fixture
def listed(settings: Settings) -> None:
    settings.CORS_ALLOWED_ORIGINS = ["http://localhost:3000", SHOP]


def listing(response: HttpResponse, name: str) -> set[str]:
    return set(response.get(f"Access-Control-{name}", "").split(", "))


def told(response: HttpResponse) -> set[str]:
    """Return the names of the headers that say anything of origins."""
    return {name for name in response.headers if name.startswith(("Vary", "Access-Control-"))}


def preflight(path: str = CARTS, origin: str = SHOP) -> Any:
    headers = {
        "Origin": origin,
        "Access-Control-Request-Method": "PUT",
        "Access-Control-Request-Headers": "authorization,content-type,if-match",
    }
    return Client().options(path, headers=headers)


@pytest.mark.parametrize("path", [CARTS, f"{CARTS}/{STRANGER}/items/{STRANGER}", "/v2.0/none"])
def test_a_preflight_needs_no_token(listed: None, path: str) -> None:
    response = preflight(path)

    assert (response.status_code, response.content) == (200, b"")
    assert response["Access-Control-Allow-Origin"] == SHOP
    assert listing(response, "Allow-Methods") == {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"}
    assert listing(response, "Allow-Headers") == SENT
    assert "Access-Control-Allow-Credentials" not in response
    assert response["Vary"] == "origin"
    assert response["Cache-Control"] == "no-store"
    assert response["X-Content-Type-Options"] == "nosniff"
    assert response["X-Request-ID"]


def defect(_request: HttpRequest) -> HttpResponse:
    raise ValueError


urlpatterns = [path("v2.0/defect", defect)]


def assert_readable(response: HttpResponse, status: int) -> None:
    assert response.status_code == status
    assert response["Access-Control-Allow-Origin"] == SHOP
    assert listing(response, "Expose-Headers") == READ
    assert "Access-Control-Allow-Credentials" not in response
    assert response["Vary"] == "origin"


def test_answers_and_errors_may_be_read(listed: None, settings: Settings, api: Api) -> None:
    for response, status in (
        (api.post(body=bodies.cart(), Origin=SHOP), 200),
        (api.post(body={}, Origin=SHOP), 400),
        (api.get(Origin=SHOP, Host="evil.example"), 400),
        (Client().get(CARTS, headers={"Origin": SHOP}), 401),
        (Api(STRANGER, profileKey=str(PROFILE)).get(Origin=SHOP), 403),
        (api.get(f"/{STRANGER}", Origin=SHOP), 404),
        (api.request("OPTIONS", Origin=SHOP), 405),
        (Client().get("/v2.0/openapi.json", headers={"Origin": SHOP}), 200),
    ):
        assert_readable(response, status)
    settings.API_URLCONF = __name__
    assert_readable(Client().get("/v2.0/defect", headers={"Origin": SHOP}), 500)


@pytest.mark.parametrize(
    "origin",
    [
        *("http://shop.example", "https://shop.example:8443", "https://www.shop.example"),
        *("https://shop.example.evil.example", "https://shop.example@evil.example"),
        *("null", "*", "https://[", ""),
    ],
)
def test_another_origin_is_told_nothing(listed: None, api: Api, origin: str) -> None:
    assert told(preflight(origin=origin)) == {"Vary"}
    assert told(api.get(Origin=origin)) == {"Vary"}


@pytest.mark.parametrize(
    "path", ["/docs", "/admin/login/", "/static/carts/desk.css", "/healthz", "/readyz"]
)
def test_the_pages_are_for_no_origin(listed: None, db: None, path: str) -> None:
    for response in (Client().get(path, headers={"Origin": SHOP}), preflight(path)):
        assert [name for name in told(response) if name != "Vary"] == []
        assert response.status_code in {200, 302, 405}
        response.close()


def test_it_is_off_until_origins_are_listed(api: Api) -> None:
    assert preflight().status_code == 401
    assert told(preflight()) == told(api.get(Origin=SHOP)) == set()


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> Callable[[], Any]:
    """What the log says of origins, in a new process."""
    monkeypatch.setattr(logs, "_warned_at", {})
    return lambda: [text for name, _, text in caplog.record_tuples if name == "cartsvc"]


def asked_of(origin: str) -> str:
    return f"A browser asked whether a page of {origin} may call: CORS_ALLOWED_ORIGINS lacks it."


@pytest.mark.parametrize("origins", [[], ["https://www.shop.example"]])
def test_the_log_names_an_origin_that_is_not_listed_once(
    settings: Settings, lines: Callable[[], Any], origins: list[str]
) -> None:
    settings.CORS_ALLOWED_ORIGINS = origins
    for _ in range(3):
        preflight()
    assert lines() == [asked_of(SHOP)]
    for origin in ("", "null", "https://shop.example/\nx", "https://Shop.example", *origins):
        logs._warned_at.clear()
        preflight(origin=origin)
    assert lines() == [asked_of(SHOP)]


def test_made_up_origins_do_not_fill_the_log(lines: Callable[[], Any], clock: Clock) -> None:
    for _ in range(2):
        for number in range(10):
            preflight(origin=f"https://{number}.example")
        clock.now += logs.LOG_SECONDS
    assert lines() == [asked_of("https://0.example")] * 2
