"""The answers to errors that no request can cause alone."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.http import HttpResponse
from rest_framework.exceptions import Throttled

from carts.views import CartViewSet
from cartsvc.api.exception_handler import handle
from tests.support import bodies
from tests.support.answers import error
from tests.support.callers import Api


def body_of(response: HttpResponse) -> Any:
    return json.loads(response.content)


@pytest.mark.parametrize(("wait", "seconds"), [(7.6, 8), (0.2, 1), (None, 1)])
def test_a_throttled_caller_is_told_when_to_come_back(wait: float | None, seconds: int) -> None:
    response = handle(Throttled(wait))

    assert response.status_code == 429
    assert response["Retry-After"] == str(seconds)
    assert body_of(response) == error(
        "throttled", f"Too many requests. Try again in {seconds} seconds."
    )


def test_a_method_that_declares_no_operation_is_closed(
    api: Api, unchanged: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(CartViewSet.create, "operation")

    response = api.post(body=bodies.cart())

    assert response.status_code == 500
    assert response.json() == error("internal_error", "Something went wrong on our side.")
