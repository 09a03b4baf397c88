import json
import time
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import hypothesis
import jwt
import pytest
from django.conf import settings
from django.http import HttpResponse
from django.test import Client

from carts.models import Cart, CartItem, CartItemOption, IdempotencyRecord

# Other inputs each time; a failure prints what repeats it.
for name, examples in {"short": 625, "long": 20_000}.items():
    hypothesis.settings.register_profile(
        name,
        max_examples=examples,
        deadline=None,
        derandomize=False,
        database=None,
        print_blob=True,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
hypothesis.settings.load_profile("short")

PROFILE = uuid.UUID("0f8fad5b-d9cb-469f-a165-70867728950e")
STRANGER = uuid.UUID("7c9e6679-7425-40de-944b-e07fc1f90ae7")


def make_token(**claims: Any) -> str:
    """Return a real token of the configured key; a claim of None is left out."""
    payload = {
        "sub": "partner-app",
        "scope": "Cart.Write",
        "exp": int(time.time()) + 600,
        **claims,
    }
    payload = {name: value for name, value in payload.items() if value is not None}
    return jwt.encode(payload, settings.JWT_SIGNING_KEY, algorithm="HS256")


class Api:
    """A caller of the API: a bearer of some claims who speaks for one profile."""

    def __init__(self, profile: uuid.UUID = PROFILE, **claims: Any) -> None:
        self.client = Client(headers={"Authorization": f"Bearer {make_token(**claims)}"})
        self.base = f"/v2.0/customers/{profile}/carts"

    def request(self, method: str, path: str = "", body: Any = None, **headers: str) -> Any:
        content: dict[str, Any] = {}
        if body is not None:
            data = body if isinstance(body, str | bytes) else json.dumps(body)
            content = {"data": data, "content_type": "application/json"}
        return self.client.generic(
            method,
            f"{self.base}{path}",
            **content,
            headers={name.replace("_", "-"): value for name, value in headers.items()},
        )

    def post(self, path: str = "", body: Any = None, **headers: str) -> Any:
        return self.request("POST", path, body, **headers)

    def put(self, path: str, body: Any = None, **headers: str) -> Any:
        return self.request("PUT", path, body, **headers)

    def get(self, path: str = "", **headers: str) -> Any:
        return self.request("GET", path, **headers)

    def delete(self, path: str, **headers: str) -> Any:
        return self.request("DELETE", path, **headers)


@pytest.fixture
def api(db: None) -> Api:
    return Api()


def stored() -> list[list[Any]]:
    """Return all that the service holds, to compare before and after."""
    return [
        list(model.objects.order_by("pk").values())
        for model in (Cart, CartItem, CartItemOption, IdempotencyRecord)
    ]


@pytest.fixture
def unchanged(db: None) -> Iterator[Callable[[], None]]:
    """Prove that nothing happened: what is stored at the end is what was at the mark.

    The mark is the start of the test, or the last call of the fixture's value.
    """
    before = [stored()]

    def mark() -> None:
        before[0] = stored()

    yield mark
    assert stored() == before[0]


def error(code: str, text: str, field: str | None = None) -> dict[str, Any]:
    """Return the whole body of an answer with one problem."""
    return {
        "message": text,
        "notifications": [
            {
                "severity": "Error",
                "text": text,
                "code": code,
                "additionalData": None if field is None else {"field": field},
            }
        ],
    }


def problems(response: HttpResponse) -> list[tuple[str, str | None]]:
    """Return the code and the field of each notification of an error."""
    body = response.json()
    assert set(body) == {"message", "notifications"}
    assert all(
        set(notification) == {"severity", "text", "code", "additionalData"}
        and notification["severity"] == "Error"
        for notification in body["notifications"]
    )
    return [
        (notification["code"], (notification["additionalData"] or {}).get("field"))
        for notification in body["notifications"]
    ]
