"""Instances and querysets do not write: an instance may be older than its row."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection, transaction

from carts.models import Cart, CartItem, CartItemOption
from tests.support.factories import CartFactory, ItemFactory, OptionFactory
from tests.support.stored import held, kept

pytestmark = pytest.mark.django_db


@pytest.fixture
def cart() -> Any:
    return CartFactory(items=[ItemFactory(options=[OptionFactory(display_name="Bacon")])])


WRITES = {
    "cart.save": lambda cart: cart.save(),
    "cart.save some": lambda cart: cart.save(update_fields=["note"]),
    "cart.delete": lambda cart: cart.delete(),
    "item.save": lambda cart: cart.items.get().save(),
    "item.save some": lambda cart: cart.items.get().save(update_fields=["quantity"]),
    "item.delete": lambda cart: cart.items.get().delete(),
    "option.save": lambda cart: cart.items.get().options.get().save(),
    "option.delete": lambda cart: cart.items.get().options.get().delete(),
    "new item": lambda cart: CartItem(cart=cart).save(),
    "new option": lambda cart: CartItemOption(item=cart.items.get()).save(),
    "carts.create": lambda _: Cart.objects.create(),
    "carts.update": lambda cart: Cart.objects.filter(pk=cart.pk).update(currency="USD"),
    "carts.bulk_update": lambda cart: Cart.objects.bulk_update([cart], ["note"]),
    "carts.get_or_create": lambda _: Cart.objects.get_or_create(note="x"),
    "items.create": lambda cart: cart.items.create(),
    "items.update": lambda cart: cart.items.update(quantity=9),
    "items.delete": lambda cart: cart.items.all().delete(),
    "items.bulk_create": lambda cart: CartItem.objects.bulk_create([CartItem(cart=cart)]),
    "items.bulk_update": lambda cart: CartItem.objects.bulk_update(cart.items.all(), ["price"]),
    "items.update_or_create": lambda cart: cart.items.update_or_create(position=7),
    "items.get_or_create": lambda cart: cart.items.get_or_create(position=7),
    "items.add": lambda cart: cart.items.add(CartFactory(items=[ItemFactory()]).items.get()),
    "items.add one by one": lambda cart: cart.items.add(CartItem(), bulk=False),
    "items.set": lambda cart: cart.items.set(CartFactory(items=[ItemFactory()]).items.all()),
    "options.create": lambda cart: cart.items.get().options.create(),
    "options.update": lambda cart: cart.items.get().options.update(price=0),
    "options.delete": lambda _: CartItemOption.objects.all().delete(),
    "options.bulk_create": lambda _: CartItemOption.objects.bulk_create([]),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_a_write_refuses_and_names_the_method_to_use(
    cart: Cart, write: Callable[[Cart], Any]
) -> None:
    before = kept(cart.pk)

    refusal = r"(cart\.add_item|item\.change)\("
    with pytest.raises(TypeError, match=refusal), transaction.atomic():
        write(cart)

    assert kept(cart.pk) == held(cart.pk) == before
    cart.refresh_from_db()
    assert (cart.version, cart.currency, cart.items.get().quantity) == (1, "EUR", 2)


def test_a_stale_item_brings_nothing_back(cart: Any) -> None:
    stale = cart.items.get()
    cart.items.get().replace(**ItemFactory(display_name="Burger"))

    stale.change(quantity=3)

    item = cart.items.get()
    assert (item.display_name, item.quantity, item.options.count()) == ("Burger", 3, 0)
    assert (stale.display_name, stale.value) == ("Burger", item.value)


def test_a_change_keeps_what_is_not_named(cart: Any) -> None:
    item = cart.items.get()
    before = {name: value for name, value in vars(item).items() if not name.startswith("_")}

    item.change(special_instructions="No onions")

    after = {name: value for name, value in vars(item).items() if not name.startswith("_")}
    assert after == before | {"special_instructions": "No onions"}
    assert [option.display_name for option in item.options.all()] == ["Bacon"]


def test_whole_carts_may_be_deleted(cart: Any) -> None:
    other = CartFactory(items=[ItemFactory()])
    cart.add_item(**ItemFactory())

    deleted, of = Cart.objects.filter(pk=cart.pk).delete()

    assert of["carts.Cart"] == 1
    if not connection.is_distributed:  # there the database deletes the rest by itself
        assert (deleted, of["carts.CartItem"]) == (5, 2)
    assert list(Cart.objects.all()) == [other]
    assert list(CartItem.objects.all()) == list(other.items.all())
