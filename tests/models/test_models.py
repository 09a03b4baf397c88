"""The model layer without HTTP: a shell has the same guarantees as a caller of the API."""

from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from functools import partial
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError, connection
from uuid_utils.compat import uuid7

from carts.cart_errors import CartNotFound, VersionMismatch
from carts.models import Cart, CartItem, CartItemOption
from carts.models.columns import column_names
from carts.records import NewCart, Option
from tests.desk.conftest import form_of, staff
from tests.support import bodies
from tests.support.answers import assert_refused, errors_of
from tests.support.callers import Api
from tests.support.carts import shown
from tests.support.factories import CartFactory, ItemFactory, OptionFactory, new_item
from tests.support.table_contents import Unchanged, stored, unguarded

pytestmark = pytest.mark.django_db


@pytest.fixture
def cart(db: None) -> Any:
    return CartFactory(items=[ItemFactory(options=[OptionFactory(), OptionFactory()])])


def test_the_time_of_the_last_change_never_goes_back(cart: Cart) -> None:
    """As when a change has waited for one that came after it."""
    before = cart.modified_on
    Cart.objects.at(before - timedelta(seconds=1)).add_item(cart.pk, uuid7(), new_item())
    cart.refresh_from_db()
    assert (cart.version, cart.modified_on) == (2, before)
    later = before + timedelta(seconds=1)
    Cart.objects.at(later).add_item(cart.pk, uuid7(), new_item())
    cart.refresh_from_db()
    assert (cart.version, cart.modified_on) == (3, later)


@pytest.mark.parametrize("quantity", [5, 5.0, Decimal("5.0"), "5"])
def test_takes_whole_numbers_in_any_form(cart: Cart, quantity: Any) -> None:
    assert str(cart.add_item(**ItemFactory(quantity=quantity))) == "5 \u00d7 Pizza Margherita"


@pytest.mark.parametrize(
    ("field", "value", "text"),
    [
        *(("quantity", value, "an integer") for value in (5.7, float("inf"), float("nan"))),
        *(("quantity", Decimal(one), "an integer") for one in ("2.5", "NaN", "sNaN", "Infinity")),
        # Turned into an int, the first would take minutes.
        *(("quantity", value, "must not be above 9999") for value in ("1e999999999", "1e99")),
        *(("price", Decimal(value), "must be a number") for value in ("NaN", "sNaN", "-Infinity")),
        ("price", True, "must be a number"),
        ("price", 0.12345, "more than 4 decimals"),
        ("price", "1e999999999", "must not be above"),
    ],
)
def test_refuses_a_number_that_is_none_of_its_field(
    cart: Cart, unchanged: Unchanged, field: str, value: Any, text: str
) -> None:
    item = cart.items.get()
    unchanged()
    for write in (
        lambda: cart.add_item(**ItemFactory(**{field: value})),
        lambda: item.change(**{field: value}),
    ):
        with pytest.raises(ValidationError, match=text) as error:
            write()
        assert list(error.value.error_dict) == [field]


@pytest.mark.parametrize(
    ("write", "name"),
    [
        (lambda cart: cart.items.get().change(position=7, quantity=3), "position"),
        (lambda cart: cart.items.get().change(value=3), "value"),
        (lambda cart: cart.items.get().replace(**ItemFactory(), colour="red"), "colour"),
        (lambda cart: cart.add_item(**ItemFactory(position=0)), "position"),
        (lambda cart: cart.add_item(**ItemFactory(options=[OptionFactory(size=1)])), "size"),
        (lambda cart: cart.change(note="x", subtotal=0), "subtotal"),
        (lambda _: CartFactory(version=41), "version"),
        (lambda _: CartFactory(items=[ItemFactory(cart_id=1)]), "cart_id"),
    ],
)
def test_a_name_that_cannot_be_set_is_refused(
    cart: Cart, unchanged: Callable[[], None], write: Callable[[Any], Any], name: str
) -> None:
    unchanged()
    with pytest.raises(TypeError, match=name):
        write(cart)


def test_a_cart_in_a_withdrawn_currency_can_be_worked_with(
    cart: Any, unchanged: Callable[[], None]
) -> None:
    """ISO 4217 has withdrawn BGN on 1 January 2026. Only a new cart must be in one of the list."""
    for model in (Cart, CartItem, CartItemOption):
        unguarded(model).update(currency="BGN")
    api, lead, item = Api(cart.profile_key), staff("Cart support lead"), cart.items.get()
    path, body = f"/{cart.pk}/items", bodies.item(currency="BGN", options=[])
    page = f"/admin/carts/cart/{cart.pk}/items/{item.pk}/"
    read = shown(api, cart.pk)
    assert (read["currency"], read["items"][0]["currency"]) == ("BGN", "BGN")
    for each in (page, f"/admin/carts/cart/{cart.pk}/change/", "/admin/carts/cart/"):
        assert "BGN" in lead.get(each).text
    for answer in (
        api.post(path, body),
        api.put(f"{path}/{item.pk}", body),
        api.patch(f"{path}/{item.pk}", {"quantity": 3}),
    ):
        assert answer.status_code == 200, answer.content
    item.change(quantity=4)
    cart.add_item(**ItemFactory(currency="BGN"))
    assert lead.post(page, form_of(lead, page) | {"quantity": "5"}).status_code == 302
    assert cart.items.first().quantity == 5
    unchanged()
    answer = api.post(path, bodies.bare_item())
    assert_refused(answer, 400, "currency_mismatch", "The cart's currency is BGN.", "/currency")
    assert errors_of(api.post(body=bodies.cart(currency="BGN"))) == [
        ("invalid_currency", "/currency")
    ]


def test_an_item_of_a_cart_that_is_gone_says_so(cart: Any) -> None:
    item = cart.items.get()
    Cart.objects.delete_cart(cart.pk)
    replace = partial(item.replace, **ItemFactory())
    for write in partial(item.change, quantity=3), replace, item.remove:
        with pytest.raises(CartNotFound):
            write()


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
    """The database refuses values that bypass the checks, and undoes the rest of the write."""
    before, item = stored(), cart.items.get()
    option = Option._make({**OptionFactory(), "price": Decimal(-1)}.values())
    broken = new_item(options=[option])

    for write in (
        lambda: CartFactory(items=[broken]),
        lambda: Cart.objects.add_item(cart.pk, uuid7(), broken),
        lambda: Cart.objects.replace_item(cart.pk, item.pk, broken),
    ):
        with pytest.raises(IntegrityError):
            write()
        assert not connection.in_atomic_block
        assert stored() == before
    assert Cart.objects.add_item(cart.pk, uuid7(), new_item()).version == 2


@pytest.mark.parametrize("key", [5, True, "x", 4.2, ()])
def test_a_key_of_another_kind_is_refused(cart: Any, unchanged: Unchanged, key: Any) -> None:
    values = {name: getattr(cart, name) for name in column_names(NewCart)}
    unchanged()
    for write in (
        lambda: Cart.objects.create_with_items(**values, profile_key=key),
        lambda: Cart.objects.create_with_items(**values, profile_key=cart.profile_key, id=key or 7),
        lambda: cart.add_item(**ItemFactory(), id=key or 7),
        lambda: cart.replace_items([ItemFactory() | {"id": key}]),
    ):
        with pytest.raises(ValidationError, match="must be a GUID"):
            write()


def test_a_key_may_be_a_text(cart: Any) -> None:
    item = cart.add_item(**ItemFactory(), id=str(uuid7()))
    cart.replace_items([ItemFactory(display_name="Soup") | {"id": str(item.pk)}])
    assert cart.items.get().pk == item.pk


@pytest.mark.parametrize("method", ["add_items", "replace_items"])
def test_several_items_are_checked_each_in_its_place(
    cart: Any, unchanged: Unchanged, method: str
) -> None:
    wrong = [ItemFactory(), ItemFactory(price=-1), ItemFactory(options=[OptionFactory(price=-2)])]
    unchanged()
    with pytest.raises(ValidationError) as refused:
        getattr(cart, method)(wrong)
    for place in ("items[1].price: ", "items[2].options[0].price: "):
        assert place in str(refused.value)
