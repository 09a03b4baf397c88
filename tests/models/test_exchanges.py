"""How often an operation waits for PostgreSQL to answer."""

from collections.abc import Callable
from itertools import count, groupby
from tempfile import TemporaryFile
from typing import Any

import pytest
from django.db import connection
from psycopg.pq import Trace

from tests.support import bodies
from tests.support.callers import Api
from tests.support.carts import created, created_with_items

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite answers in process"),
]


def exchanges(call: Callable[[], Any]) -> int:
    """Return how often the client sends something and then waits for what comes back."""
    server = connection.connection.pgconn
    with TemporaryFile("w+") as messages:
        server.trace(messages.fileno())
        server.set_trace_flags(Trace.SUPPRESS_TIMESTAMPS)
        try:
            assert call().status_code == 200
        finally:
            server.untrace()
        messages.seek(0)
        directions = [line[0] for line in messages if line.startswith(("F\t", "B\t"))]
    return [direction for direction, _ in groupby(directions)].count("F")


# Each another quantity or note.
OTHER = count(10)


def added(api: Api, cart: str) -> str:
    item: str = api.post(f"/{cart}/items", bodies.item()).json()["data"]["itemId"]
    return item


CALLS: dict[str, tuple[Callable[..., Any], int]] = {
    "create": (lambda api, cart, item: api.post(body=bodies.cart(items=50, options=2)), 3),
    "create empty": (lambda api, cart, item: api.post(body=bodies.bare_cart()), 3),
    "add": (lambda api, cart, item: api.post(f"/{cart}/items", bodies.item(options=2)), 2),
    "update": (lambda api, cart, item: api.put(f"/{cart}/items/{item}", bodies.item(options=3)), 2),
    # With its addition, and the deletion with its creation.
    "remove": (lambda api, cart, item: api.delete(f"/{cart}/items/{added(api, cart)}"), 2 + 2),
    "delete": (lambda api, cart, item: api.delete(f"/{created(api)}"), 2 + 3),
    "change cart": (lambda api, cart, item: api.patch(f"/{cart}", {"note": f"{next(OTHER)}"}), 2),
    "change item": (
        lambda api, cart, item: api.patch(f"/{cart}/items/{item}", {"quantity": next(OTHER)}),
        2,
    ),
    "get": (lambda api, cart, item: api.get(f"/{cart}"), 1),
    "list": (lambda api, cart, item: api.get(), 1),
}


@pytest.mark.parametrize(("call", "most"), CALLS.values(), ids=CALLS)
def test_an_operation_waits_for_few_answers(call: Callable[..., Any], most: int) -> None:
    api = Api()
    cart, [item] = created_with_items(api, "Calzone")
    call(api, cart, item)  # the driver asks for some things once

    assert 0 < exchanges(lambda: call(api, cart, item)) <= most
