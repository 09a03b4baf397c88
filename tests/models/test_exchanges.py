"""How often an operation waits for PostgreSQL to answer."""

import socket
from collections.abc import Callable, Iterator
from contextlib import closing
from decimal import Decimal
from itertools import count
from select import select
from threading import Thread
from time import time
from typing import Any

import pytest
from django.db import IntegrityError, connection

from carts.models import Cart
from tests.support import bodies
from tests.support.callers import Api
from tests.support.carts import created, shown
from tests.support.factories import CartFactory, ItemFactory, OptionFactory

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite answers in process"),
]

# A client that sends nothing for so long waits for an answer. A busy machine may make it look so
# in vain, so each operation is tried a few times.
SILENCE_SECONDS, ATTEMPTS = 0.15, 4


class Relay:
    """Stands in front of the database and hands its answers on when the client waits for them."""

    def __init__(self, host: str, port: int) -> None:
        self.server, self.exchanges = (host, port), 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        Thread(target=self.run, daemon=True).start()

    def run(self) -> None:
        with self.listener:
            client, _ = self.listener.accept()
        with closing(client), closing(socket.create_connection(self.server)) as server:
            answers = b""
            while True:
                ready, _, _ = select([client, server], [], [], SILENCE_SECONDS if answers else None)
                if not ready:
                    self.exchanges += 1
                    client.sendall(answers)
                    answers = b""
                for one in ready:
                    data = one.recv(65536)
                    if not data:
                        return
                    if one is client:
                        server.sendall(data)
                    else:
                        answers += data


@pytest.fixture
def relay() -> Iterator[Relay]:
    settings = connection.settings_dict
    before = {name: settings[name] for name in ("HOST", "PORT")}
    connection.close()
    found = Relay(before["HOST"] or "127.0.0.1", int(before["PORT"] or 5432))
    settings.update(HOST="127.0.0.1", PORT=str(found.port))
    connection.ensure_connection()
    yield found
    connection.close()
    settings.update(before)


# Each another quantity.
MORE = count(10)


def update(api: Api, cart: str, item: str) -> Any:
    return api.put(f"/{cart}/items/{item}", bodies.item(options=3))


def remove(api: Api, cart: str, _: str) -> Any:
    last = shown(api, cart)["items"][-1]["itemId"]
    return lambda: api.delete(f"/{cart}/items/{last}")


@pytest.mark.parametrize(
    ("call", "exchanges"),
    [
        (lambda api, cart, item: api.post(body=bodies.cart(items=50, options=2)), 3),
        (lambda api, cart, item: api.post(body=bodies.bare_cart()), 3),
        (lambda api, cart, item: api.post(f"/{cart}/items", bodies.item(options=2)), 2),
        (update, 2),
        (remove, 2),
        (lambda api, cart, item: api.patch(f"/{cart}", {"note": str(time())}), 2),
        (lambda api, cart, item: api.patch(f"/{cart}/items/{item}", {"quantity": next(MORE)}), 2),
        (lambda api, cart, item: api.delete(f"/{created(api)}"), 2 + 3),  # with its creation
        (lambda api, cart, item: api.get(f"/{cart}"), 1),
        (lambda api, cart, item: api.get(), 1),
    ],
    ids=[
        "create",
        "create empty",
        "add",
        "update",
        "remove",
        "change cart",
        "change item",
        "delete",
        "get",
        "list",
    ],
)
def test_an_operation_waits_for_few_answers(
    relay: Relay, call: Callable[..., Any], exchanges: int
) -> None:
    api = Api()
    cart = created(api, bodies.cart(items=ATTEMPTS + 1, options=2))
    item = shown(api, cart)["items"][0]["itemId"]
    counts = []
    for _ in range(ATTEMPTS):
        prepared = call if call is not remove else remove(api, cart, item)
        before = relay.exchanges
        response = prepared() if call is remove else prepared(api, cart, item)
        assert response.status_code == 200
        counts.append(relay.exchanges - before)
    assert 0 < min(counts) <= exchanges, counts


def test_what_fails_with_its_last_statement_leaves_nothing() -> None:
    """What is sent together is done together, and the connection serves on."""
    wrong = {**ItemFactory(), "options": [OptionFactory(price=Decimal(-1))]}
    cart = CartFactory(items=[ItemFactory()])

    for change in (
        lambda: CartFactory(items=[wrong], validate=False),
        lambda: Cart.objects.add_item(cart.pk, wrong, validate=False),
        lambda: Cart.objects.replace_item(cart.pk, cart.items.get().pk, wrong, validate=False),
    ):
        with pytest.raises(IntegrityError):
            change()
        assert not connection.in_atomic_block
        assert Cart.objects.get().version == 1
        assert cart.items.get().options.count() == 0
    assert Cart.objects.add_item(cart.pk, ItemFactory()) == 2
