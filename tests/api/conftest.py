import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pytest_django.live_server_helper import LiveServer

from carts.models.reads import select_cart, select_summaries
from tests.api.clock import Clock
from tests.api.openapi_document import Document, served
from tests.support.callers import Api, HttpApi
from tests.support.carts import created, shown


@pytest.fixture(scope="session")
def document() -> Document:
    """Return the served OpenAPI document."""
    return served()


@pytest.fixture
def http_api(live_server: LiveServer) -> HttpApi:
    """Return a caller of a real server that runs in this process."""
    return HttpApi(live_server.url, kept=False)


@pytest.fixture
def cart_id(api: Api) -> str:
    """Create a cart with one item. A test names it before `unchanged`."""
    return created(api)


@pytest.fixture
def item_id(api: Api, cart_id: str) -> str:
    """Return the id of the only item of `cart_id`."""
    [item] = shown(api, cart_id)["items"]
    return str(item["itemId"])


@pytest.fixture
def keep_days(settings: Any) -> Iterator[Callable[[int, int], None]]:
    """Return what sets for how long carts and ordered ones are kept, as a process starts with."""

    def keep(days: int, ordered_days: int) -> None:
        settings.CART_DAYS, settings.ORDERED_CART_DAYS = days, ordered_days
        select_cart.cache_clear()
        select_summaries.cache_clear()

    yield keep
    keep(0, 0)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Return the clock that the service takes for time.monotonic."""
    standing = Clock()
    monkeypatch.setattr(time, "monotonic", standing)
    return standing
