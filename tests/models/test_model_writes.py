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
from carts.records import Option
from tests.desk.conftest import form_of, staff
from tests.support import bodies
from tests.support.answers import assert_refused, errors_of
from tests.support.callers import Api
from tests.support.carts import shown
from tests.support.factories import CartFactory, ItemFactory, OptionFactory, new_item
from tests.support.table_contents import Unchanged, table_contents, unguarded_rows

pytestmark = pytest.mark.django_db


@pytest.fixture
def cart(db: None) -> Any:
    return CartFactory(items=[ItemFactory(options=[OptionFactory(), OptionFactory()])])


def test_the_time_of_the_last_change_never_goes_back(cart: Cart) -> None:
    """As when a change has waited for one that came after it."""
    before = cart.modified_on
    Cart.objects.dated(before - timedelta(seconds=1)).add_item(cart.pk, uuid7(), new_item())
    cart.refresh_from_db()
    assert (cart.version, cart.modified_on) == (2, before)
    later = before + timedelta(seconds=1)
    Cart.objects.dated(later).add_item(cart.pk, uuid7(), new_item())
    cart.refresh_from_db()
    assert (cart.version, cart.modified_on) == (3, later)


@pytest.mark.parametrize(
    ("write", "name"),
    [
        (lambda cart: cart.items.get().change(position=7, quantity=3), "position"),
        (lambda cart: cart.items.get().change(value=3), "value"),
        (lambda cart: cart.items.get().replace(**ItemFactory(), colour="red"), "colour"),
        (lambda cart: cart.add_item(**ItemFactory(position=0)), "position"),
        (lambda cart: cart.add_item(**ItemFactory(options=[OptionFactory(size=1)])), "size"),
        (lambda cart: cart.change(note="x", subtotal=0), "subtotal"),
        (lambda cart: cart.change(qantity=1), "qantity"),
        (lambda _: CartFactory(version=41), "version"),
        (lambda _: CartFactory(items=[ItemFactory(cart_id=1)]), "cart_id"),
    ],
)
def test_a_name_that_cannot_be_set_is_refused(
    cart: Cart, unchanged: Unchanged, write: Callable[[Any], Any], name: str
) -> None:
    with pytest.raises(TypeError, match=f"takes no {name}, only "):
        write(cart)


def test_a_cart_in_a_withdrawn_currency_can_be_worked_with(cart: Any, unchanged: Unchanged) -> None:
    """ISO 4217 has withdrawn BGN on 1 January 2026. Only a new cart must be in one of the list."""
    for model in (Cart, CartItem, CartItemOption):
        unguarded_rows(model).update(currency="BGN")
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
    text = "The cart's currency is BGN."
    assert_refused(answer, 400, "currency_mismatch", text, "/currency", currency="BGN")
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


def test_names_every_value_that_is_not_allowed(cart: Cart, unchanged: Unchanged) -> None:
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
    with pytest.raises(ValidationError) as error:
        cart.change(platform=" ", fulfilment_channel="x" * 51, note="a\x1bb")
    assert [*error.value.error_dict] == ["platform", "fulfilment_channel", "note"]


def test_refuses_another_version(cart: Cart, unchanged: Unchanged) -> None:
    item = cart.items.get()
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
    before, item = table_contents(), cart.items.get()
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
        assert table_contents() == before
    assert Cart.objects.add_item(cart.pk, uuid7(), new_item()).version == 2


@pytest.mark.parametrize("key", [5, True, "x", 4.2, ()])
def test_a_key_of_another_kind_is_refused(cart: Any, unchanged: Unchanged, key: Any) -> None:
    for write in (
        lambda: CartFactory(profile_key=key),
        lambda: cart.replace_items([ItemFactory() | {"id": key}]),
        lambda: Cart.objects.delete_cart(key),
    ):
        with pytest.raises(ValidationError, match="must be a GUID"):
            write()


def test_a_key_may_be_a_text(cart: Any) -> None:
    item = cart.add_item(**ItemFactory())
    cart.replace_items([ItemFactory(display_name="Soup") | {"id": str(item.pk)}])
    assert cart.items.get().pk == item.pk
