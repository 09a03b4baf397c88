from typing import Any

import pytest
from pytest_django import Settings

from cartsvc.serving import server


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> list[Any]:
    """Replace the server, and return the list of the calls that would have started it."""
    settings.BIND = settings.BIND  # for this test, because the command sets it
    asked: list[Any] = []
    monkeypatch.setattr(server, "serve", lambda address, _: asked.append(address))
    return asked
