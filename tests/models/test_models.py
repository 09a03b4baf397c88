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
from cartsvc.errors import MAX_PROBLEMS, Refusal
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
    assert (str(cart), str(item)) == (str(cart.pk), f"2 {TIMES} Pizza Margherita")
    assert str(item.options.all()[0]) == "Extra mozzarella"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("quantity", 5.7),
        ("quantity", Decimal("2.5")),
        ("quantity", True),
        ("quantity", "5_0"),
        ("quantity", "\u0665"),
        ("quantity", float("inf")),
        ("quantity", float("nan")),
        ("menu_version", 2.5),
        ("menu_item_key", "1_000"),
        ("price", "5_0"),
        ("price", True),
    ],
)
def test_refuses_what_only_python_takes_for_a_number(
    cart: Cart, unchanged: Callable[[], None], field: str, value: Any
) -> None:
    item = item_of(cart)
    unchanged()
    with pytest.raises(ValidationError) as error:
        cart.add_item(**ItemFactory(**{field: value}))
    assert list(error.value.error_dict) == [field]
    with pytest.raises(ValidationError):
        item.change(**{field: value})


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


def test_takes_a_price_as_a_float() -> None:
    cart = made(items=[ItemFactory(price=0.1 + 0.2, options=[OptionFactory(price=1.1)])])

    assert item_of(cart).value == Decimal("2.8")
    with pytest.raises(ValidationError) as error:
        CartFactory(items=[ItemFactory(price=0.12345)])
    assert error.value.error_dict["items[0].price"][0].code == "too_many_decimals"


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


def test_refuses_more_than_fits(unchanged: Callable[[], None], settings: Any) -> None:
    settings.MAX_ITEMS, settings.MAX_OPTIONS = 2, 1
    with pytest.raises(ValidationError) as error:
        CartFactory(
            items=[ItemFactory(), ItemFactory(options=[OptionFactory(), OptionFactory()])] * 2
        )

    assert {name: problems[0].code for name, problems in error.value.error_dict.items()} == {
        "items": "too_many",
        "items[1].options": "too_many",
        "items[3].options": "too_many",
    }


def test_refuses_another_currency(unchanged: Callable[[], None]) -> None:
    with pytest.raises(Refusal) as error:
        CartFactory(items=[ItemFactory(currency="USD", options=[OptionFactory(currency="GBP")])])

    assert codes(error) == [
        ("currency_mismatch", ("items", 0, "currency")),
        ("currency_mismatch", ("items", 0, "options", 0, "currency")),
    ]
    assert str(error.value) == "The cart's currency is EUR. The cart's currency is EUR."


def test_looks_for_no_more_currencies_after_a_hundred(unchanged: Callable[[], None]) -> None:
    options = [OptionFactory(currency="USD")] * 3
    with pytest.raises(Refusal) as error:
        CartFactory(items=[ItemFactory(currency="USD", options=options)] * 50)
    assert len(error.value.reasons) == MAX_PROBLEMS + 1


def test_adds_replaces_and_removes(cart: Cart) -> None:
    added = cart.add_item(**ItemFactory(display_name="Tiramisù", with_option=True))
    assert (added.position, cart.version) == (1, 2)

    added.replace(version=2, **ItemFactory(display_name="Gelato", price=3, quantity=1))
    assert (added.display_name, added.value, added.position) == ("Gelato", Decimal(3), 1)
    assert added.cart.version == 3

    added.remove(version=3)
    assert list(cart.items.all()) == [item_of(cart)]
    cart.refresh_from_db()
    assert cart.version == 4


@pytest.mark.parametrize(
    "values",
    [{"quantity": 0}, {"display_name": "x" * 101}, {"options": [OptionFactory(price=-1)]}],
    ids=["quantity", "name", "option"],
)
def test_refuses_values_on_every_write(
    cart: Cart, unchanged: Callable[[], None], values: dict[str, Any]
) -> None:
    item = item_of(cart)
    unchanged()

    with pytest.raises(ValidationError):
        cart.add_item(**ItemFactory(**values))
    with pytest.raises(ValidationError):
        item.replace(**ItemFactory(**values))


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


def test_somebody_reads_and_writes_their_own_carts_only(
    cart: Cart, unchanged: Callable[[], None]
) -> None:
    strangers = Cart.objects.by(Author("bearer", "app"), profile_key=uuid.uuid4())
    assert (strangers.find(cart.pk), strangers.page(10), strangers.count()) == (None, [], 0)

    for write in (
        lambda: strangers.add_item(cart.pk, ItemFactory()),
        lambda: strangers.replace_item(cart.pk, item_of(cart).pk, ItemFactory()),
        lambda: strangers.remove_item(cart.pk, item_of(cart).pk),
    ):
        with pytest.raises(Refusal) as error:
            write()
        assert codes(error) == [("cart_not_found", None)]


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
