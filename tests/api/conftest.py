import time

import pytest
from pytest_django.live_server_helper import LiveServer

from tests.support.callers import HttpApi
from tests.support.clock import Clock


@pytest.fixture
def http_api(live_server: LiveServer) -> HttpApi:
    """Return a caller of a real server that runs in this process."""
    return HttpApi(live_server.url, kept=False)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Return the clock that the service takes for time.monotonic."""
    standing = Clock()
    monkeypatch.setattr(time, "monotonic", standing)
    return standing
