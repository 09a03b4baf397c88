"""The rate limit in process; tests/chaos proves it across workers on a real cache."""

from collections.abc import Callable

import pytest
from django.core.cache import caches
from pytest_django import Settings

from carts.views import CartServiceViewSet
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


def test_nobody_is_limited_while_the_cache_does_not_answer(
    db: None, limited: None, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    settings.CACHES = {
        "default": {
            "BACKEND": "django.core.cache.backends.redis.RedisCache",
            "LOCATION": "redis://127.0.0.1:1/0",
        }
    }
    api = Api()

    assert [api.get().status_code for _ in range(3)] == [200] * 3
    assert "nobody is limited" in caplog.text
