"""Instances and querysets do not write: an instance may be older than its row."""

from collections.abc import Callable
from typing import Any

import pytest
from django.core import serializers
from django.db import transaction

from carts.models import Cart, CartChange, CartItem, CartItemOption, DeletedCart
from tests.support.factories import CartFactory, ItemFactory, OptionFactory
from tests.support.table_contents import Unchanged

pytestmark = pytest.mark.django_db


@pytest.fixture
def cart() -> Any:
    cart = CartFactory(items=[ItemFactory(options=[OptionFactory(display_name="Bacon")])])
    cart.change(note="Thanks")
    return cart


def written(cart: Cart) -> Any:
    """Yield the cart as `loaddata` would read it."""
    return serializers.deserialize("json", serializers.serialize("json", [cart]))


def deleted(cart: Cart) -> Any:
    """Delete the cart; return the records of deletions."""
    Cart.objects.delete_cart(cart.pk)
    return DeletedCart.objects


WRITES = {
    "cart.save": lambda cart: cart.save(),
    "cart.delete": lambda cart: cart.delete(),
    "item.save": lambda cart: cart.items.get().save(),
    "item.delete": lambda cart: cart.items.get().delete(),
    "new item": lambda cart: CartItem(cart=cart).save(),
    "carts.create": lambda _: Cart.objects.create(),
    "carts.delete": lambda cart: Cart.objects.filter(pk=cart.pk).delete(),
    "all carts": lambda _: Cart.objects.delete(),
    "cart.save_base": lambda cart: cart.save_base(),
    "a fixture": lambda cart: [one.save() for one in written(cart)],
    "carts.update": lambda cart: Cart.objects.filter(pk=cart.pk).update(currency="USD"),
    "carts.bulk_update": lambda cart: Cart.objects.bulk_update([cart], ["note"]),
    "carts.get_or_create": lambda _: Cart.objects.get_or_create(note="x"),
    "items.create": lambda cart: cart.items.create(),
    "items.update": lambda cart: cart.items.update(quantity=9),
    "items.bulk_create": lambda cart: CartItem.objects.bulk_create([CartItem(cart=cart)]),
    "items.bulk_update": lambda cart: CartItem.objects.bulk_update(cart.items.all(), ["price"]),
    "items.update_or_create": lambda cart: cart.items.update_or_create(position=7),
    "items.add": lambda cart: cart.items.add(CartFactory(items=[ItemFactory()]).items.get()),
    "items.set": lambda cart: cart.items.set(CartFactory(items=[ItemFactory()]).items.all()),
    "options.update": lambda cart: cart.items.get().options.update(price=0),
    "options.delete": lambda _: CartItemOption.objects.all().delete(),
    "changes.update": lambda _: CartChange.objects.update(author_name="somebody else"),
    "changes.delete": lambda cart: cart.changes.all().delete(),
    "change.save": lambda cart: cart.changes.get().save(),
    "change.delete": lambda cart: cart.changes.get().delete(),
    "deleted.save": lambda cart: deleted(cart).get().save(),
    "deleted.delete": lambda cart: deleted(cart).get().delete(),
    "deleted.update": lambda cart: deleted(cart).update(author_name="somebody else"),
    "deleted.all.delete": lambda cart: deleted(cart).all().delete(),
    "deleted.create": lambda cart: DeletedCart.objects.create(id=cart.pk),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_a_write_refuses_and_names_the_method_to_use(
    cart: Cart, unchanged: Unchanged, write: Callable[[Cart], Any]
) -> None:
    error = r"(cart\.add_item|item\.change|delete_cart)\("
    with pytest.raises(TypeError, match=error), transaction.atomic():
        write(cart)


def test_a_stale_item_changes_what_is_named_and_brings_nothing_back(cart: Any) -> None:
    stale = cart.items.get()
    new = ItemFactory(display_name="Burger")
    cart.items.get().replace(**new, options=[OptionFactory(display_name="Onions")])

    stale.change(quantity=3)

    item = cart.items.get()
    assert {name: getattr(item, name) for name in new} == new | {"quantity": 3}
    assert list(map(str, item.options.all())) == ["Onions"]
    assert str(stale) == str(item)
