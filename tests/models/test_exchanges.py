"""How often an operation waits for PostgreSQL to answer."""

import socket
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import count
from select import select
from threading import Thread
from typing import Any

import pytest
from django.db import connection

from tests.support import bodies
from tests.support.callers import Api
from tests.support.carts import created, created_with_items

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


@pytest.mark.parametrize(("call", "exchanges"), CALLS.values(), ids=CALLS)
def test_an_operation_waits_for_few_answers(
    relay: Relay, call: Callable[..., Any], exchanges: int
) -> None:
    api = Api()
    cart, [item] = created_with_items(api, "Calzone")
    counts = []
    for _ in range(ATTEMPTS):
        before = relay.exchanges
        assert call(api, cart, item).status_code == 200
        counts.append(relay.exchanges - before)
    assert 0 < min(counts) <= exchanges, counts
