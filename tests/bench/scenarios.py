"""The requests that every server gets, and the check that it answers them correctly."""

import uuid
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

from tests.support import bodies

Request = tuple[str, str, Any]  # method, path and body
Ask = Callable[..., Any]  # sends a request, and returns the data of its answer


def prepare(ask: Ask, *, customers: int = 10, large: int = 20) -> dict[str, list[Request]]:
    """Create 20 carts of each of so many customers, and so many large ones.

    Return the requests of each scenario. Those that read or change take turns over the carts, so
    that callers do not wait for each other.
    """
    lists = paths(customers)
    carts = [made(ask, path, items=3, options=2) for _ in range(20) for path in lists]
    items = [f"{path}/items/{ask('GET', path)['items'][0]['itemId']}" for path in carts]
    largest = [made(ask, path, items=50, options=5) for path in paths(large)]
    return requests(lists, carts, items, largest)


def requests(
    lists: Sequence[str], carts: Sequence[str], items: Sequence[str], large: Sequence[str] = ()
) -> dict[str, list[Request]]:
    """Return the requests of each scenario, for lists, carts and items with these paths."""
    return {
        "create empty": create(items=0),
        "create 3x2": create(items=3, options=2),
        "create 50x5": create(items=50, options=5),
        "replace, 2 options": replace(items, options=2),
        "replace, 10 options": replace(items, options=10),
        "read 3x2": [("GET", path, None) for path in carts],
        "read 50x5": [("GET", path, None) for path in large],
        "list 20": [("GET", path, None) for path in lists],
    }


def paths(customers: int) -> list[str]:
    """Return the paths of the carts of so many new customers."""
    return [f"/v2.0/customers/{uuid.uuid4()}/carts" for _ in range(customers)]


def create(**size: int) -> list[Request]:
    body = bodies.cart(**size)
    return [("POST", path, body) for path in paths(100)]


def replace(items: Sequence[str], *, options: int) -> list[Request]:
    """Return requests that change every member of `options`: two bodies have none in common."""
    sent = [bodies.item(options=options, displayName=name) for name in ("Calzone", "Diavolo")]
    for number, item in enumerate(sent, start=1):
        for option in item["options"]:
            option["optionSetKey"] += number
    return [
        ("PUT", path, body)
        for first in range(0, len(items), 50)
        for body in sent
        for path in items[first : first + 50]
    ]


def made(ask: Ask, carts: str, **size: int) -> str:
    """Create a cart and return its path."""
    return f"{carts}/{ask('POST', carts, bodies.cart(**size))['cartId']}"


def verify(ask: Ask) -> None:
    """Fail if an answer is wrong."""
    [carts] = paths(1)
    for items, options in (0, 0), (3, 2), (50, 5):
        path = made(ask, carts, items=items, options=options)
        expect(ask("GET", path), bodies.cart(items=items, options=options))
    for options in 2, 10, 0:
        path = made(ask, carts, items=3, options=2)
        item_id = ask("GET", path)["items"][1]["itemId"]
        cart = bodies.cart(items=3, options=2)
        cart["items"][1] = bodies.item(options=options, displayName="Calzone")
        ask("PUT", f"{path}/items/{item_id}", cart["items"][1])
        expect(ask("GET", path), cart)
    listed = ask("GET", carts)
    assert len(listed["carts"]) == 6, listed


def expect(shown: Any, sent: Any) -> None:
    """Fail if a member that was sent is not shown. Prices may come in another notation."""
    if isinstance(sent, dict):
        for name, value in sent.items():
            expect(shown[name], value)
    elif isinstance(sent, list):
        for pair in zip(shown, sent, strict=True):
            expect(*pair)
    elif isinstance(sent, float):
        assert Decimal(shown) == Decimal(str(sent)), (shown, sent)
    else:
        assert shown == sent, (shown, sent)


NAMES = list(requests((), (), ()))
