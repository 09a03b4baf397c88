"""The model layer without HTTP: a shell has the same guarantees as a caller of the API."""

from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError, connection

from carts.cart_errors import VersionMismatch
from carts.models import Cart
from tests.support.factories import CartFactory, ItemFactory, OptionFactory
from tests.support.stored import stored

pytestmark = pytest.mark.django_db


@pytest.fixture
def cart(db: None) -> Any:
    return CartFactory(items=[ItemFactory(options=[OptionFactory(), OptionFactory()])])


def test_the_time_of_the_last_change_never_goes_back(cart: Cart) -> None:
    """As when a change has waited for one that came after it."""
    before = cart.modified_on
    Cart.objects.at(before - timedelta(seconds=1)).add_item(cart.pk, ItemFactory())
    cart.refresh_from_db()
    assert (cart.version, cart.modified_on) == (2, before)
    later = before + timedelta(seconds=1)
    Cart.objects.at(later).add_item(cart.pk, ItemFactory())
    cart.refresh_from_db()
    assert (cart.version, cart.modified_on) == (3, later)


@pytest.mark.parametrize("quantity", [5.0, Decimal("5.0"), "5"])
def test_takes_whole_numbers_in_any_form(cart: Cart, quantity: Any) -> None:
    assert str(cart.add_item(**ItemFactory(quantity=quantity))) == "5 \u00d7 Pizza Margherita"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("quantity", 5.7),
        ("quantity", Decimal("2.5")),
        ("quantity", float("inf")),
        ("quantity", float("nan")),
        ("price", True),
        ("price", 0.12345),
    ],
)
def test_refuses_a_number_of_another_kind(
    cart: Cart, unchanged: Callable[[], None], field: str, value: Any
) -> None:
    item = cart.items.get()
    unchanged()
    for write in (
        lambda: cart.add_item(**ItemFactory(**{field: value})),
        lambda: item.change(**{field: value}),
    ):
        with pytest.raises(ValidationError) as error:
            write()
        assert list(error.value.error_dict) == [field]


def test_refuses_what_a_cart_must_not_become(cart: Cart, unchanged: Callable[[], None]) -> None:
    unchanged()
    with pytest.raises(ValidationError) as error:
        cart.change(platform=" ", fulfilment_channel="x" * 51, note="a\x1bb")
    assert list(error.value.error_dict) == ["platform", "fulfilment_channel", "note"]


def test_takes_the_noise_of_a_double_off_a_price() -> None:
    cart = CartFactory(items=[ItemFactory(price=0.1 + 0.2, options=[OptionFactory(price=1.1)])])

    assert cart.items.get().value == Decimal("2.8")


def test_names_every_value_that_is_not_allowed(unchanged: Callable[[], None]) -> None:
    with pytest.raises(ValidationError) as error:
        CartFactory(
            partner_key="LARGE",
            items=[
                ItemFactory(),
                ItemFactory(quantity=0, options=[OptionFactory(), OptionFactory(price=-1)]),
                ItemFactory(menu_key=" "),
            ],
        )

    assert {name: errors[0].code for name, errors in error.value.error_dict.items()} == {
        "partner_key": "max_length",
        "items[1].quantity": "min_value",
        "items[1].options[1].price": "min_value",
        "items[2].menu_key": "blank",
    }


def test_refuses_another_version(cart: Cart, unchanged: Callable[[], None]) -> None:
    item = cart.items.get()
    unchanged()

    for write in (
        lambda: cart.add_item(version=9, **ItemFactory()),
        lambda: item.replace(version=9, **ItemFactory()),
        lambda: item.remove(version=9),
    ):
        with pytest.raises(VersionMismatch):
            write()


@pytest.mark.django_db(transaction=True)
def test_a_write_is_whole_or_not_at_all(cart: Cart) -> None:
    """The database refuses values that bypass the validators, and undoes the rest of the write."""
    before, item = stored(), cart.items.get()
    broken = ItemFactory(options=[OptionFactory(), OptionFactory(price=-1)])

    for write in (
        lambda: CartFactory(items=[broken], validate=False),
        lambda: Cart.objects.add_item(cart.pk, broken, validate=False),
        lambda: Cart.objects.replace_item(cart.pk, item.pk, broken, validate=False),
    ):
        with pytest.raises(IntegrityError):
            write()
        assert not connection.in_atomic_block
        assert stored() == before
    assert Cart.objects.add_item(cart.pk, ItemFactory()) == 2
