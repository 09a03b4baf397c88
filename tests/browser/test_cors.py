"""A page of another origin calls the API of a real server."""

import json
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from tests.machines.servers import SIGNING_KEY, Service, service
from tests.support import bodies
from tests.support.issuers import running
from tests.support.tokens import mint

CALL = """
async ([url, method, headers, body]) => {
  try {
    const answer = await fetch(url, {method, headers, body: body && JSON.stringify(body)});
    return [answer.status, Object.fromEntries(answer.headers), await answer.text()];
  } catch (error) {
    return String(error);
  }
}
"""
REFUSED = "TypeError: Failed to fetch"


@pytest.fixture(scope="module")
def shop() -> Iterator[int]:
    """The port of a site that is not the service's. An issuer of tokens will do."""
    with running() as site:
        yield site.server.server_port


@pytest.fixture(scope="module")
def server(shop: int) -> Iterator[Service]:
    with service(CORS_ALLOWED_ORIGINS=f"http://127.0.0.1:{shop}") as server:
        yield server


class Script:
    """A script on a page of some origin, which has no token for the service but this."""

    def __init__(self, chromium: Any, origin: str, server: Service) -> None:
        self.page = chromium.new_context().new_page()
        self.page.goto(origin)
        self.url = server.url
        self.carts = f"/v2.0/customers/{uuid.uuid4()}/carts"
        self.token = {"Authorization": f"Bearer {mint(key=SIGNING_KEY)}"}

    def call(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if body:
            sent["Content-Type"] = "application/json"
        return self.page.evaluate(CALL, [f"{self.url}{path}", method, sent, body])


def test_a_listed_origin_calls_every_operation(chromium: Any, shop: int, server: Service) -> None:
    script = Script(chromium, f"http://127.0.0.1:{shop}/", server)

    def call(method: str, path: str, body: Any = None, **headers: str) -> tuple[Any, Any]:
        status, told, text = script.call(
            method, f"{script.carts}{path}", body, **script.token, **headers
        )
        assert status == 200
        return told, json.loads(text).get("data")

    names = {"Idempotency_Key": "mine", "X_Request_ID": "of-the-shop", "Prefer": "handling=strict"}
    assert call("POST", "", bodies.cart(), **names)[0]["x-request-id"] == "of-the-shop"
    assert call("POST", "", bodies.cart(), **names)[0]["idempotent-replayed"] == "true"
    cart = "/" + call("GET", "")[1]["carts"][0]["cartId"]
    assert call("GET", cart)[0]["etag"] == '"1"'
    call("POST", f"{cart}/items", bodies.item(), If_Match='"1"')
    item = f"{cart}/items/" + call("GET", cart, If_None_Match='"1"')[1]["items"][0]["itemId"]
    call("PUT", item, bodies.item(quantity=3), If_Match='"2"')
    call("PATCH", item, {"quantity": 4}, If_Match='"3"')
    call("DELETE", item, If_Match='"4"')
    call("PATCH", cart, {"note": "Thanks"}, If_Match='"5"')
    call("DELETE", cart, If_Match='"6"')


def test_other_origins_and_the_pages_are_refused(chromium: Any, shop: int, server: Service) -> None:
    stranger = Script(chromium, f"http://localhost:{shop}/", server)
    assert stranger.call("GET", stranger.carts, **stranger.token) == REFUSED
    assert stranger.call("POST", stranger.carts, bodies.cart(), **stranger.token) == REFUSED
    assert stranger.call("GET", "/v2.0/openapi.json") == REFUSED

    script = Script(chromium, f"http://127.0.0.1:{shop}/", server)
    assert script.call("GET", "/v2.0/openapi.json")[0] == 200
    for path in ("/docs", "/admin/login/", "/static/carts/desk.css", "/healthz"):
        assert script.call("GET", path) == REFUSED
    assert script.call("GET", script.carts, Cookie_Like="mine", **script.token) == REFUSED
