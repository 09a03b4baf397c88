"""The model layer without HTTP: a shell has the same guarantees as a caller of the API."""

import uuid
from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import DatabaseError

from carts.models import Cart, CartItem
from carts.models.change import Author
from cartsvc.errors import Refusal
from tests.support.factories import CartFactory, ItemFactory, OptionFactory

pytestmark = pytest.mark.django_db

TIMES = "\u00d7"


@pytest.fixture
def cart() -> Cart:
    return made(items=[ItemFactory(options=[OptionFactory(), OptionFactory()])])


def made(**values: Any) -> Cart:
    cart = CartFactory(**values)
    assert isinstance(cart, Cart)
    return cart


def item_of(cart: Cart) -> CartItem:
    return cart.items.get()


def codes(refused: pytest.ExceptionInfo[Refusal]) -> list[tuple[str, Any]]:
    return [(problem.code, problem.field) for problem in refused.value.reasons]


def test_creates_a_cart_with_its_items(cart: Cart) -> None:
    cart.refresh_from_db()
    item = item_of(cart)
    assert (cart.version, cart.created_on) == (1, cart.modified_on)
    assert (item.position, item.quantity, item.price) == (0, 2, Decimal("10.1"))
    assert [option.position for option in item.options.all()] == [0, 1]
    assert item.value == Decimal("25.2")
    assert str(cart) == f"{cart.pk} of {cart.profile_key}"
    assert str(item) == f"2 {TIMES} Pizza Margherita"
    assert str(item.options.all()[0]) == "Extra mozzarella"


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


def test_takes_whole_numbers_in_any_form(cart: Cart) -> None:
    for quantity in (5.0, Decimal("5.0"), "5", 5):
        added = cart.add_item(**ItemFactory(quantity=quantity))
        assert added.quantity == 5


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

    assert {name: problems[0].code for name, problems in error.value.error_dict.items()} == {
        "partner_key": "max_length",
        "items[1].quantity": "min_value",
        "items[1].options[1].price": "min_value",
        "items[2].menu_key": "blank",
    }


def test_refuses_another_version(cart: Cart, unchanged: Callable[[], None]) -> None:
    item = item_of(cart)
    unchanged()

    for write in (
        lambda: cart.add_item(version=9, **ItemFactory()),
        lambda: item.replace(version=9, **ItemFactory()),
        lambda: item.remove(version=9),
    ):
        with pytest.raises(Refusal) as error:
            write()
        assert codes(error) == [("version_mismatch", None)]


def test_a_write_is_whole_or_not_at_all(cart: Cart, unchanged: Callable[[], None]) -> None:
    """The database refuses values that bypass the validators, and undoes the rest of the write."""
    item = item_of(cart)
    unchanged()
    broken = ItemFactory(options=[OptionFactory(), OptionFactory(price=-1)])

    for write in (
        lambda: CartFactory(items=[broken], validate=False),
        lambda: Cart.objects.add_item(cart.pk, broken, validate=False),
        lambda: Cart.objects.replace_item(cart.pk, item.pk, broken, validate=False),
    ):
        with pytest.raises(DatabaseError):
            write()


def test_the_history_names_who_wrote(cart: Cart) -> None:
    author = Author("staff", "ada", "request-1")
    added = uuid.uuid4()
    assert Cart.objects.by(author).add_item(cart.pk, ItemFactory(id=added)) == 2

    cart.refresh_from_db()
    [change] = cart.changes.all()
    assert (cart.created_by.kind, cart.created_by.request_id) == ("shell", None)
    assert (change.author_kind, change.author_name, change.request_id) == (
        "staff",
        "ada",
        "request-1",
    )
    assert (change.operation, change.item_id, change.item_name) == (
        "Add Item",
        added,
        "Pizza Margherita",
    )


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("quantity", 5.7),
        ("quantity", Decimal("2.5")),
        ("quantity", True),
        ("quantity", float("inf")),
        ("quantity", float("nan")),
        ("menu_version", 2.5),
        ("price", True),
    ],
)
def test_refuses_a_number_of_another_kind(
    cart: Cart, unchanged: Callable[[], None], field: str, value: Any
) -> None:
    item = item_of(cart)
    unchanged()
    with pytest.raises(ValidationError) as error:
        cart.add_item(**ItemFactory(**{field: value}))
    assert list(error.value.error_dict) == [field]
    with pytest.raises(ValidationError):
        item.change(**{field: value})


def test_takes_a_price_as_a_float() -> None:
    cart = made(items=[ItemFactory(price=0.1 + 0.2, options=[OptionFactory(price=1.1)])])

    assert item_of(cart).value == Decimal("2.8")
    with pytest.raises(ValidationError) as error:
        CartFactory(items=[ItemFactory(price=0.12345)])
    assert list(error.value.error_dict) == ["items[0].price"]
