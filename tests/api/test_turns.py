"""One large request at a time is worked on in a process; so many wait, and more are refused."""

import uuid
from typing import Any

import pytest

from cartsvc.api import turns
from tests.support.callers import HttpApi

pytestmark = pytest.mark.django_db(transaction=True)


def created(caller: HttpApi, body: Any) -> uuid.UUID:
    return uuid.UUID(caller.post("", body).json()["data"]["cartId"])


def test_so_many_large_carts_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "_large", {})
    monkeypatch.setattr(turns, "MOST_REMEMBERED", 2)
    for key in ("a", "b", "c"):
        turns.take_turn_of_read(key, turns.LARGE_OBJECTS + 1)
        turns.end()
    assert list(turns._large) == ["b", "c"]
