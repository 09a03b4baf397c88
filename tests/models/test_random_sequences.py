"""Random sequences of changes by the API, the desk and the shell leave nothing wrong behind.

After each sequence the stored totals equal the recomputed ones, the versions rise by one, and the
recorded changes lead back to the cart as it was created.
"""

import os
import random
from collections.abc import Callable
from contextlib import suppress
from decimal import Decimal
from functools import partial
from typing import Any
from uuid import UUID

import pytest
from django.test import Client

from carts.cart_errors import CartClosed, CartNotFound, ItemNotFound
from carts.models import Cart, CartItem, change_feed
from carts.models.cart_change import undo
from carts.models.cart_status import OPEN, CartStatus
from carts.models.change_feed import OLDEST, changes_after
from carts.models.item import ITEM_COLUMNS, OPTION_COLUMNS
from carts.records import Item, Option, PlacedItem
from tests.desk.conftest import CARTS, form_on, staff
from tests.support import bodies
from tests.support.callers import PROFILE, STRANGER, Api
from tests.support.concurrency import together
from tests.support.factories import CartFactory, ItemFactory, OptionFactory
from tests.support.table_contents import computed_totals, stored_totals

CHANGES = 6
SEEDS = 20 if os.environ.get("CI") else 8

CUSTOMERS = PROFILE, STRANGER

Items = dict[UUID, PlacedItem]


def item_of(row: Any) -> Item:
    options = [
        Option(**{name: getattr(option, name) for name in OPTION_COLUMNS})
        for option in row.options.all()
    ]
    return Item(**{name: getattr(row, name) for name in ITEM_COLUMNS}, options=options)


def items_of(cart: Cart) -> Items:
    return {
        row.pk: PlacedItem(row.pk, row.position, item := item_of(row), item.value)
        for row in cart.items.prefetch_related("options")
    }


def check(cart_id: UUID, created: Items) -> None:
    cart = Cart.objects.get(pk=cart_id)
    assert stored_totals(cart_id) == computed_totals(cart_id)
    recorded = list(cart.changes.all())
    assert [change.version for change in recorded] == list(range(2, cart.version + 1))
    told, _ = changes_after(OLDEST, 10_000, {})
    versions = [change.version for change in told if change.cart_id == cart_id]
    assert versions == list(range(1, cart.version + 1))
    items, subtotal = items_of(cart), cart.subtotal
    for change in reversed(recorded):
        assert change.subtotal_after == subtotal
        subtotal = change.subtotal_before
        for item_id, (_, now) in change.changed_items.items():
            placed = items.get(item_id)
            item = {"position": placed.position, **placed.item._asdict()} if placed else {}
            assert {name: item[name] for name in now} == now
        items = undo(items, {}, [change])[0]
    assert items == created
    assert subtotal == sum(
        item.quantity * (item.price + sum(option.price for option in item.options))
        for _, _, item, _ in created.values()
    )


def price(chance: random.Random) -> Decimal:
    return Decimal(chance.randrange(10 ** chance.randrange(1, 15))) / 10_000


def item(chance: random.Random) -> dict[str, Any]:
    options = [OptionFactory(price=price(chance)) for _ in range(chance.randrange(4))]
    return dict(
        ItemFactory(price=price(chance), quantity=chance.randint(1, 9_999), options=options)
    )


def by_the_shell(chance: random.Random, cart: Cart) -> None:
    items = list(cart.items.all())
    if not items or chance.random() < 0.4:
        cart.add_item(**item(chance))
        return
    found = chance.choice(items)
    chance.choice(
        [
            lambda: found.replace(**item(chance)),
            lambda: found.change(quantity=chance.randint(1, 9), price=price(chance)),
            lambda: found.change(options=item(chance)["options"]),
            lambda: cart.change(note=f"{chance.random()}"),
            lambda: cart.add_items([item(chance), item(chance)]),
            partial(paid, cart, chance),
            partial(cart.move, chance.choice(CUSTOMERS)),
            found.remove,
        ]
    )()


def paid(cart: Cart, chance: random.Random) -> None:
    """Hold the cart for an attempt to pay, order it or not, and open it again."""
    attempt, number = f"payment-{chance.random()}", f"order-{chance.random()}"
    with suppress(CartClosed):
        cart.close(outcome="checkout", reference=attempt)
        with pytest.raises(CartClosed):
            cart.reopen(reference="payment-late")
        if chance.random() < 0.5:
            cart.reopen(reference=attempt)
        else:
            cart.close(outcome="ordered", reference=attempt)
            cart.close(outcome="ordered", reference=attempt, order_reference=number)
            with pytest.raises(CartClosed):
                cart.reopen(reference=attempt)
            assert (cart.status, cart.order_reference) == ("ordered", number)
            cart.reopen()
        assert cart.state == CartStatus(OPEN)


def by_the_api(chance: random.Random, cart: Cart) -> None:
    cart.refresh_from_db()
    api, items = Api(cart.profile_key), list(cart.items.all())
    body = bodies.item(price=float(price(chance)), quantity=chance.randint(1, 99))
    if not items or chance.random() < 0.4:
        response = api.post(f"/{cart.pk}/items", body)
    elif chance.random() < 0.3:
        kept = [{**body, "itemId": str(one.pk)} for one in items if chance.random() < 0.7]
        chance.shuffle(kept)
        response = api.put(f"/{cart.pk}/items", {"items": [body, *kept]})
    elif chance.random() < 0.6:
        response = api.put(f"/{cart.pk}/items/{chance.choice(items).pk}", body)
    else:
        response = api.delete(f"/{cart.pk}/items/{chance.choice(items).pk}")
    # Another writer may have removed the item, or closed the cart.
    gone = response.status_code == 400 and "item_not_found" in response.content.decode()
    assert gone or response.status_code in {200, 404, 409}


def by_the_desk(chance: random.Random, cart: Cart, client: Client) -> None:
    found = cart.items.first()
    if found is None:
        return
    cart.refresh_from_db()
    page = f"{CARTS}{cart.pk}/items/{found.pk}/"
    if chance.random() < 0.5:
        client.post(f"{page}remove/", {"version": cart.version})
        return
    editor = client.get(page)
    if editor.status_code != 200:
        return  # another writer has removed the item
    sent = {"quantity": chance.randint(1, 99), "version": cart.version}
    client.post(page, form_on(editor) | sent)


def write(chance: random.Random, cart_id: UUID, *ways: Callable[..., None]) -> None:
    cart = Cart.objects.get(pk=cart_id)
    for _ in range(CHANGES):
        # Another writer may have removed the item, or closed or moved the cart.
        with suppress(CartItem.DoesNotExist, CartNotFound, ItemNotFound, CartClosed):
            chance.choice(ways)(chance, cart)


@pytest.mark.parametrize("seed", range(SEEDS))
def test_sequences(transactional_db: None, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """One of the ten sequences is of three writers at once."""
    monkeypatch.setattr(change_feed, "SETTLING_SECONDS", -1)
    ways = [by_the_shell, by_the_api, partial(by_the_desk, client=staff("Cart support lead"))]
    for number in range(10):
        chance = random.Random(10 * seed + number)
        cart = CartFactory(items=[item(chance) for _ in range(chance.randrange(4))])
        created = items_of(cart)
        if number:
            write(chance, cart.pk, *ways)
        else:
            own = [random.Random(chance.random()) for _ in ways]
            together(partial(write, *each) for each in zip(own, [cart.pk] * 3, ways, strict=True))
        check(cart.pk, created)
