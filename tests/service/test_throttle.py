"""The rate limit, in process. tests/machines tests it across workers with a real cache."""

import socket
import time

import pytest
from django.core.cache import caches
from django.http import HttpResponse
from django.test import Client
from pytest_django import Settings

from tests.support import bodies
from tests.support.answers import errors_of
from tests.support.callers import STRANGER, Api
from tests.support.clock import Clock
from tests.support.table_contents import Unchanged


@pytest.fixture
def limited(settings: Settings) -> None:
    caches["default"].clear()
    settings.THROTTLE_RATE = "2/d"


def remaining(response: HttpResponse) -> str | None:
    """Return the RateLimit-Remaining of an answer, and check the other two headers."""
    headers = {name: value for name, value in response.items() if name.startswith("RateLimit")}
    if not headers:
        return None
    assert headers.keys() == {"RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"}
    assert headers["RateLimit-Limit"] == "2"
    assert 1 <= int(headers["RateLimit-Reset"]) <= 24 * 60 * 60
    return headers["RateLimit-Remaining"]


def test_every_answer_to_a_known_bearer_says_what_is_left(
    db: None, limited: None, unchanged: Unchanged
) -> None:
    """Each request counts once. A request that is refused before the limit does not count."""
    api, may_not_write = Api(), Api(scope="none")

    assert remaining(may_not_write.post(body=bodies.cart())) == "2"  # 403
    assert remaining(api.get("/me")) == "2"  # 400 for the path
    assert remaining(api.get(f"/{STRANGER}")) == "1"  # 404
    assert remaining(api.post(body={})) == "0"  # 400 for the body
    unchanged()
    refused = api.post(body=bodies.cart())
    assert refused.status_code == 429
    assert errors_of(refused) == [("throttled", None)]
    assert 1 <= int(refused["Retry-After"]) <= 24 * 60 * 60
    assert refused["RateLimit-Reset"] == refused["Retry-After"]
    assert remaining(refused) == "0"
    assert remaining(may_not_write.get()) == "0"
    assert remaining(api.put("/no/such/path")) is None
    assert remaining(Api(token="nobody's").get()) is None
    assert remaining(Api(sub="other").get()) == "1"


@pytest.mark.parametrize("path", ["/v2.0/openapi.json", "/docs"])
def test_the_document_is_open_to_strangers(limited: None, path: str) -> None:
    answers = [*(Client().get(path) for _ in range(3)), Client().head(path), Client().options(path)]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 200, 405]


def test_a_window_ends_when_it_says(
    limited: None, db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now)
    api = Api(exp=now + 3 * 24 * 60 * 60)
    answers = [api.get() for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 429]

    now += int(answers[-1]["Retry-After"]) - 1
    assert (api.get().status_code, remaining(api.get())) == (429, "0")
    now += 1
    assert (api.get().status_code, remaining(api.get())) == (200, "0")


def test_a_rate_is_a_number_and_a_period(
    db: None, limited: None, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "time", lambda: 1_800_000_000 // 86400 * 86400)  # all begin anew
    api = Api(exp=2_000_000_000)
    for period, seconds in {"s": 1, "min": 60, "hour": 3600, "d": 86400}.items():
        settings.THROTTLE_RATE = f"7/{period}"
        answer = api.get()
        assert (answer["RateLimit-Limit"], answer["RateLimit-Reset"]) == ("7", str(seconds))


def test_a_cache_that_does_not_answer_is_left_alone_for_a_while(
    db: None, limited: None, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else each request would wait for it: ten requests, and nine of them ask nothing."""
    clock = Clock()
    monkeypatch.setattr(time, "monotonic", clock)
    # A Redis that is frozen: its kernel accepts, and nobody answers.
    with socket.create_server(("127.0.0.1", 0), backlog=100) as frozen:
        frozen.setblocking(False)
        settings.CACHE_URL = f"redis://127.0.0.1:{frozen.getsockname()[1]}/0"
        settings.CACHES = {
            "default": {
                "BACKEND": "django.core.cache.backends.redis.RedisCache",
                "LOCATION": settings.CACHE_URL,
                "OPTIONS": {"socket_connect_timeout": 0.5, "socket_timeout": 0.5},
            }
        }
        api = Api()
        for _ in range(2):
            assert [api.get().status_code for _ in range(10)] == [200] * 10
            frozen.accept()[0].close()
            with pytest.raises(BlockingIOError):
                frozen.accept()
            clock.now += 5
