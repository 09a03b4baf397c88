import pytest
from pytest_django.live_server_helper import LiveServer

from tests.support.callers import HttpApi


@pytest.fixture
def http_api(live_server: LiveServer) -> HttpApi:
    """Return a caller of a real server that runs in this process."""
    return HttpApi(live_server.url, kept=False)
