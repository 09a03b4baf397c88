"""Many concurrent callers of a real server: changes to one cart happen one after another."""

import threading
from collections import Counter
from collections.abc import Iterator
from functools import partial
from itertools import combinations_with_replacement
from typing import Any

import pytest

from carts.models import Cart, CartChange, CartItemOption
from tests.support import bodies
from tests.support.callers import HttpApi
from tests.support.carts import created, created_with_items, shown
from tests.support.concurrency import together
from tests.support.operations import CHANGES, send
from tests.support.table_contents import computed_totals, stored_totals

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def counted_right(transactional_db: None) -> Iterator[None]:
    """Check after each test that every cart's stored totals match its items."""
    yield
    for cart in Cart.objects.all():
        assert stored_totals(cart.pk) == computed_totals(cart.pk)


def signed(writer: int) -> dict[str, Any]:
    """Return an item whose parts all name the writer."""
    return bodies.item(
        displayName=f"writer {writer}",
        price=writer,
        quantity=writer,
        specialInstructions=f"writer {writer}",
        options=[bodies.option(displayName=f"writer {writer}", price=writer)] * writer,
    )


def writer_of(item: dict[str, Any]) -> int:
    """Return the writer of the item. Fail if its parts name more than one."""
    sent = signed(item["quantity"])
    assert {name: item[name] for name in sent} == sent
    writer: int = item["quantity"]
    return writer


def with_item(api: HttpApi, item: dict[str, Any]) -> tuple[str, str]:
    """Create a cart with this item. Return the cart's id and the item's path."""
    cart_id = created(api, bodies.cart(items=[item]))
    return cart_id, f"/{cart_id}/items/{shown(api, cart_id)['items'][0]['itemId']}"


def test_a_reader_never_sees_half_of_a_change(http_api: HttpApi) -> None:
    cart_id, path = with_item(http_api, signed(2))
    written = threading.Event()

    def write() -> set[int]:
        try:
            return {http_api.put(path, signed(writer)).status_code for writer in (5, 2) * 10}
        finally:
            written.set()

    def read() -> list[tuple[int, int]]:
        seen = []
        while not written.is_set():
            cart = shown(http_api, cart_id)
            writer = writer_of(cart["items"][0])
            assert cart["subtotal"] == cart["items"][0]["value"] == (1 + writer) * writer**2
            seen.append((cart["version"], writer))
        return seen

    def read_list() -> list[tuple[int, int]]:
        seen = []
        while not written.is_set():
            [summary] = http_api.get().json()["data"]["carts"]
            writer = {12: 2, 150: 5}[int(summary["subtotal"])]
            seen.append((summary["version"], writer))
        return seen

    statuses, *readers = together([write, read, read, read_list])

    assert statuses == {200}
    for seen in readers:
        assert seen
        # Every even version has the longer item, and no reader sees an older version after a newer.
        assert all((writer == 5) == (version % 2 == 0) for version, writer in seen)
        assert seen == sorted(seen, key=lambda pair: pair[0])


def test_twins_with_one_key_create_one_cart(http_api: HttpApi) -> None:
    answers = together([partial(http_api.post, "", bodies.cart(), Idempotency_Key="twins")] * 8)

    assert {answer.status_code for answer in answers} == {200}
    [cart] = Cart.objects.all()
    assert {answer.json()["data"]["cartId"] for answer in answers} == {str(cart.id)}
    assert sum("Idempotent-Replayed" in answer.headers for answer in answers) == 7


def test_of_two_bodies_with_one_key_one_is_taken(http_api: HttpApi) -> None:
    answers = together(
        partial(http_api.post, "", bodies.cart(note=str(number)), Idempotency_Key="twins")
        for number in range(6)
    )

    assert sorted(answer.status_code for answer in answers) == [200, *[422] * 5]
    assert Cart.objects.count() == 1


def test_an_item_is_never_a_mixture_of_its_writers(http_api: HttpApi) -> None:
    cart_id, path = with_item(http_api, signed(1))

    def write(writer: int) -> list[int]:
        if writer % 2:
            return [http_api.put(path, signed(writer)).status_code for _ in range(5)]
        quantities = range(100 * writer, 100 * writer + 5)
        return [http_api.patch(path, {"quantity": each}).status_code for each in quantities]

    statuses = together(partial(write, writer) for writer in range(1, 7))

    assert statuses == [[200] * 5] * 6
    cart = shown(http_api, cart_id)
    assert cart["version"] == 31
    [item] = cart["items"]
    writer = len(item["options"])
    assert CartItemOption.objects.count() == writer
    sent = signed(writer) | {"quantity": item["quantity"]}
    assert {name: item[name] for name in sent} == sent


def test_of_batches_as_many_come_as_fit(http_api: HttpApi, settings: Any) -> None:
    settings.MAX_ITEMS = 10
    cart_id = created(http_api, bodies.cart(items=[signed(1)]))

    answers = together(
        partial(http_api.post, f"/{cart_id}/items/batch", {"items": [signed(writer)] * 3})
        for writer in range(2, 8)
    )

    assert Counter(answer.status_code for answer in answers) == {200: 3, 400: 3}
    cart = shown(http_api, cart_id)
    writers = [writer_of(item) for item in cart["items"]]
    assert (cart["version"], len(writers)) == (4, 10)
    # No batch stands between the items of another.
    assert all(len({*writers[first : first + 3]}) == 1 for first in (1, 4, 7))


PAIRS = [*combinations_with_replacement(CHANGES, 2)]


def in_turn(calls: list[Any]) -> list[Any]:
    return [call() for call in calls]


def backwards(calls: list[Any]) -> list[Any]:
    return [call() for call in calls[::-1]][::-1]


def outcome(api: HttpApi, pair: tuple[str, ...], run: Any, headers: dict[str, str]) -> Any:
    """Change a new cart. Return the statuses, the cart and its history, all without ids."""
    cart, [item, _] = created_with_items(api, "Calzone", "Pizza")
    answers = run([partial(send, api, name, cart, item, **headers) for name in pair])
    found = api.get(f"/{cart}").json().get("data")
    if found:
        for part in (found, *found["items"]):
            for name in [name for name in part if name.endswith(("Id", "On", "Until"))]:
                del part[name]
    history = CartChange.objects.filter(cart_id=cart).order_by("version")
    return (
        [answer.status_code for answer in answers],
        found,
        list(history.values_list("version", "operation")),
    )


@pytest.mark.parametrize("headers", [{}, {"If_Match": '"1"'}], ids=["", "If-Match"])
@pytest.mark.parametrize("pair", PAIRS, ids=" and ".join)
def test_two_changes_at_once_end_as_one_after_the_other(
    http_api: HttpApi, pair: tuple[str, ...], headers: dict[str, str]
) -> None:
    either = [outcome(http_api, pair, run, headers) for run in (in_turn, backwards)]
    for _ in range(2):
        assert outcome(http_api, pair, together, headers) in either
