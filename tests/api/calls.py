"""Requests as an integrator writes them, about carts that a test has prepared."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

from django.test import Client

from tests.support import bodies
from tests.support.callers import PROFILE, STRANGER, Api, with_dashes
from tests.support.carts import created, created_with_items
from tests.support.left_out import sent
from tests.support.tokens import mint

CARTS = "/v2.0/customers/{profile}/carts"
CART = f"{CARTS}/{{cart}}"
ITEMS = f"{CART}/items"
ITEM = f"{ITEMS}/{{item}}"


def prepared(api: Api) -> dict[str, str]:
    """Make what the paths below name, and return the keys.

    `cart` is at version 3 and has `item`; it had `removed`. `other` is a cart with
    `other_item`, `foreign` another customer's. The Idempotency-Key "created" has made a cart,
    and "added" the item that is removed.
    """
    cart, [item] = created_with_items(api, "Calzone")
    other, [other_item] = created_with_items(api, "Funghi")
    added = api.post(f"/{cart}/items", bodies.item(), Idempotency_Key="added")
    removed = added.json()["data"]["itemId"]
    api.delete(f"/{cart}/items/{removed}")
    api.post(body=bodies.cart(), Idempotency_Key="created")
    return {
        "profile": str(PROFILE),
        "cart": cart,
        "item": item,
        "removed": removed,
        "other": other,
        "other_item": other_item,
        "foreign": created(Api(STRANGER)),
        "stranger": str(STRANGER),
    }


@dataclass(frozen=True)
class Call:
    """A request. `path` has the keys of `prepared` in braces; `claims` are the token's."""

    method: str
    path: str
    body: Any = None
    headers: Mapping[str, Any] = field(default_factory=dict)
    claims: Mapping[str, Any] = field(default_factory=dict)

    def to(self, **keys: str) -> Self:
        """Name other keys in the path: `read().to(cart="42")`."""
        path = self.path
        for name, key in keys.items():
            path = path.replace(f"{{{name}}}", key)
        return replace(self, path=path)

    def at(self, path: str) -> Self:
        return replace(self, path=path)

    def saying(self, **headers: Any) -> Self:
        """Send these headers, with the token for `{token}`; not one that is LEFT_OUT."""
        return replace(self, headers={**self.headers, **with_dashes(headers)})

    def by(self, **claims: Any) -> Self:
        """Send a token with these claims."""
        return replace(self, claims=claims)

    def send(self, keys: Mapping[str, str]) -> Any:
        token = mint(**self.claims)
        headers = {"Authorization": "Bearer {token}"}
        content = self.body
        if content is not None:
            headers["Content-Type"] = "application/json"
        if not isinstance(content, str | bytes | None):
            content = json.dumps(content)
        return Client().generic(
            self.method,
            self.path.format(**keys),
            content or "",
            headers={
                name: value.replace("{token}", token)
                for name, value in sent({**headers, **self.headers}).items()
            },
        )


def create(**changes: Any) -> Call:
    return Call("POST", CARTS, sent(bodies.cart(**changes)))


def create_with_item(**changes: Any) -> Call:
    return create(items=[sent(bodies.item(**changes))])


def create_with_option(**changes: Any) -> Call:
    return create_with_item(options=[sent(bodies.option(**changes))])


def post(body: str | bytes) -> Call:
    return Call("POST", CARTS, body)


def add(**changes: Any) -> Call:
    return Call("POST", ITEMS, sent(bodies.item(**changes)))


def replace_item(**changes: Any) -> Call:
    return Call("PUT", ITEM, sent(bodies.item(**changes)))


def remove() -> Call:
    return Call("DELETE", ITEM)


def read() -> Call:
    return Call("GET", CART)


def list_carts(query: str = "") -> Call:
    return Call("GET", CARTS + query)
