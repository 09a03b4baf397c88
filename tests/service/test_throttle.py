"""The rate limit in process; tests/chaos proves it across workers on a real cache."""

import json
import socket
from collections.abc import Callable
from typing import Any

import pytest
from django.core.cache import caches
from django.core.cache.backends.locmem import LocMemCache
from pytest_django import Settings

from carts.views import CartServiceViewSet
from cartsvc.api.malformed_http import write_envelope
from cartsvc.api.throttling import BearerThrottle
from tests.support import bodies
from tests.support.answers import problems
from tests.support.callers import Api


@pytest.fixture
def limited(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> None:
    caches["default"].clear()
    settings.THROTTLE_RATE = "2/d"
    monkeypatch.setattr(CartServiceViewSet, "throttle_classes", [BearerThrottle])


def test_a_bearer_over_the_limit_is_told_when_to_come_back(
    db: None, limited: None, unchanged: Callable[[], None]
) -> None:
    busy, other = Api(sub="busy"), Api(sub="other")
    assert [busy.post(body=bodies.bare_cart()).status_code for _ in range(2)] == [200, 200]
    unchanged()

    refused = busy.post(body=bodies.bare_cart())

    assert refused.status_code == 429
    assert problems(refused) == [("throttled", None)]
    assert 1 <= int(refused["Retry-After"]) <= 24 * 60 * 60
    assert other.get().status_code == 200


def test_a_bearer_comes_back_when_the_window_ends(db: None, limited: None) -> None:
    """Each bearer's window began at another time of the last day."""
    waits = []
    for number in range(6):
        api = Api(sub=f"bearer {number}")
        *_, refused = [api.get() for _ in range(3)]
        waits.append(int(refused["Retry-After"]))

    assert all(1 <= seconds <= 24 * 60 * 60 for seconds in waits)
    assert max(waits) > 60


class BrokenCache(LocMemCache):
    """What a cache without errors of its own does when its connection breaks."""

    def incr(self, *args: Any, **kwargs: Any) -> int:
        raise ConnectionResetError


@pytest.mark.parametrize(
    "backend",
    ["django.core.cache.backends.redis.RedisCache", f"{__name__}.BrokenCache"],
    ids=["Redis", "another"],
)
def test_nobody_is_limited_while_the_cache_does_not_answer(
    db: None,
    limited: None,
    settings: Settings,
    caplog: pytest.LogCaptureFixture,
    backend: str,
) -> None:
    settings.CACHES = {"default": {"BACKEND": backend, "LOCATION": "redis://127.0.0.1:1/0"}}
    api = Api()

    assert [api.get().status_code for _ in range(3)] == [200] * 3
    assert "nobody is limited" in caplog.text


@pytest.mark.parametrize(
    ("status", "code"), [(400, "invalid_header"), (431, "invalid_header"), (500, "internal_error")]
)
def test_what_the_server_refuses_by_itself_is_an_envelope(status: int, code: str) -> None:
    ours, callers = socket.socketpair()
    with ours, callers:
        write_envelope(ours, status, "Reason", "<quoted>")
        ours.shutdown(socket.SHUT_WR)
        answer = b"".join(iter(lambda: callers.recv(65536), b""))
    head, _, body = answer.partition(b"\r\n\r\n")

    assert head.startswith(f"HTTP/1.1 {status} Reason\r\n".encode())
    assert b"Content-Type: application/json" in head
    assert f"Content-Length: {len(body)}".encode() in head
    assert json.loads(body)["notifications"][0]["code"] == code
    assert b"quoted" not in answer
