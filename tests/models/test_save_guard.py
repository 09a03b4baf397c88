"""Instances and querysets do not write: an instance may be older than its row."""

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from django.core.serializers import deserialize, serialize
from django.db import transaction

from carts.models import Cart, CartChange, CartItem, CartItemOption, DeletedCart
from tests.support.factories import CartFactory, ItemFactory, OptionFactory
from tests.support.table_contents import Unchanged

pytestmark = pytest.mark.django_db


@pytest.fixture
def cart() -> Any:
    Cart.objects.delete_cart(CartFactory().pk)
    cart = CartFactory(items=[ItemFactory(options=[OptionFactory(display_name="Bacon")])])
    cart.change(note="Thanks")
    return cart


def load(fixture: str) -> None:
    """Write what `loaddata` would read."""
    for row in deserialize("json", fixture):
        row.save()


ROWS: dict[str, Callable[[Any], Any]] = {
    "save": lambda rows: rows.get().save(),
    "save_base": lambda rows: rows.get().save_base(),
    "delete": lambda rows: rows.get().delete(),
    "of all, update": lambda rows: rows.update(profile_key=uuid4()),
    "of all, delete": lambda rows: rows.all().delete(),
    "of the manager, delete": lambda rows: rows.delete(),
    "create": lambda rows: rows.create(profile_key=uuid4()),
    "get_or_create": lambda rows: rows.get_or_create(profile_key=uuid4()),
    "update_or_create": lambda rows: rows.update_or_create(profile_key=uuid4()),
    "bulk_create": lambda rows: rows.bulk_create([rows.model(profile_key=uuid4())]),
    "bulk_update": lambda rows: rows.bulk_update(rows.all(), ["profile_key"]),
    "a fixture": lambda rows: load(serialize("json", rows.all())),
}
ITEMS: dict[str, Callable[[Any], Any]] = {
    "update": lambda items: items.update(quantity=9),
    "create": lambda items: items.create(),
    "add": lambda items: items.add(CartFactory(items=[ItemFactory()]).items.get()),
    "set": lambda items: items.set(CartFactory(items=[ItemFactory()]).items.all()),
    "options": lambda items: items.get().options.update(price=0),
}
ERROR = r"(cart\.add_item|item\.change|delete_cart)\("


@pytest.mark.parametrize("model", [Cart, CartItem, CartItemOption, CartChange, DeletedCart])
@pytest.mark.parametrize("write", ROWS.values(), ids=ROWS)
def test_a_write_refuses_and_names_the_method_to_use(
    cart: Cart, unchanged: Unchanged, write: Callable[[Any], Any], model: Any
) -> None:
    with pytest.raises(TypeError, match=ERROR), transaction.atomic():
        write(model.objects)


@pytest.mark.parametrize("write", ITEMS.values(), ids=ITEMS)
def test_a_write_to_the_items_of_a_cart_does_so_too(
    cart: Any, unchanged: Unchanged, write: Callable[[Any], Any]
) -> None:
    with pytest.raises(TypeError, match=ERROR), transaction.atomic():
        write(cart.items)


def test_a_stale_item_changes_what_is_named_and_brings_nothing_back(cart: Any) -> None:
    stale = cart.items.get()
    new = ItemFactory(display_name="Burger")
    cart.items.get().replace(**new, options=[OptionFactory(display_name="Onions")])

    stale.change(quantity=3)

    item = cart.items.get()
    assert {name: getattr(item, name) for name in new} == new | {"quantity": 3}
    assert list(map(str, item.options.all())) == ["Onions"]
    assert str(stale) == str(item)
