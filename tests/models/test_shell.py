"""What `manage.py shell` does and says. Its section of carts/SUPPORT.md runs as it stands."""

import re
import textwrap
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.exceptions import FieldError, ValidationError
from django.db.transaction import atomic
from django.utils import timezone
from uuid_utils.compat import uuid7

from carts.cart_errors import CurrencyMismatch
from carts.models import Cart, CartChange
from carts.records import Item, Option
from cartsvc.request_errors import ApiErrors, InvalidGuid
from tests.support.factories import CartFactory, ItemFactory, OptionFactory, new_item
from tests.support.table_contents import Unchanged, unguarded_rows

pytestmark = pytest.mark.django_db

SOME_ID = uuid7()

PAPER = Path(settings.BASE_DIR) / "carts/SUPPORT.md"


def test_the_lines_of_the_readme_run() -> None:
    section = PAPER.read_text().partition("## The shell\n")[2].partition("\n## ")[0]
    code = textwrap.dedent("\n".join(re.findall("^    .*", section, re.MULTILINE)))
    before, refused, after = re.split(r"(?m)^(.*# ValidationError.*)\n", code)
    names = {"Cart": Cart}

    exec(before, names)
    cart = Cart.objects.get()
    shown = dict(re.findall(r"(?m)^(pizza\.\w+) +# (Decimal.+)$", code))
    assert (
        {line: repr(eval(line, names)) for line in shown}
        == shown
        == {"pizza.value": "Decimal('32.25')"}
    )
    with pytest.raises(ValidationError):
        exec(refused, names)
    assert (cart.version, cart.items.get().quantity) == (3, 3)
    kept: list[str] = []
    exec(
        after.replace("Cart.objects.delete_cart", "keep(); Cart.objects.delete_cart"),
        names
        | {"keep": lambda: kept.extend(CartChange.objects.values_list("operation", flat=True))},
    )

    changed = ["Add Item", "Change Item", "Update Item", "Remove Item"]
    assert kept == [*changed, "Close Cart", "Reopen Cart", "Move Cart"]
    assert not Cart.objects.exists()


def test_open_carts_are_found_by_the_line_of_the_paper() -> None:
    (line,) = re.findall(r"(?m)^    (Cart\.objects\.with_status.+)", PAPER.read_text())
    now = timezone.now()
    carts = [CartFactory(restaurant_key=key) for key in (1, 1, 1, 1, 2)]
    closings = [{"outcome": "ordered"}, {"outcome": "checkout"}, {"outcome": "checkout"}]
    for cart, closing in zip(carts, closings, strict=False):
        cart.close(**closing, reference="A-1")
    unguarded_rows(Cart).filter(pk=carts[2].pk).update(closed_until=now)
    assert {*eval(line, {"Cart": Cart})} == {*carts[2:4]}
    assert {*Cart.objects.by(None, restaurant_key=1).with_status("checkout")} == {carts[1]}
    assert repr([*Cart.objects.with_status("ordered")]).count("ordered") == 1


@pytest.mark.parametrize(
    "find",
    [
        lambda carts: carts.filter(status="open"),
        lambda carts: carts.get(status="open"),
        lambda carts: carts.by(None, restaurant_key=1).filter(status="open"),
        lambda carts: carts.with_items().exclude(restaurant_key=1).filter(status="open"),
    ],
)
def test_a_status_in_a_query_says_what_to_write(find: Callable[[Any], Any]) -> None:
    with pytest.raises(FieldError) as refused:
        find(Cart.objects)
    assert str(refused.value) == 'Write Cart.objects.with_status("open"), or another status.'
    with pytest.raises(FieldError, match="Cannot resolve keyword 'state' into field"):
        Cart.objects.filter(state="open")


@pytest.fixture
def cart(db: None) -> Any:
    return CartFactory(items=[ItemFactory(options=[OptionFactory(), OptionFactory()])])


CONTAINERS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "a dict as options": (
        lambda cart: cart.items.get().change(options=OptionFactory()),
        "options[0]: This must be Option or dict, not str. options[1]: ",
    ),
    "rows as a cart's items": (
        lambda cart: CartFactory(items=cart.items.all()),
        "items[0]: This must be Item or dict, not CartItem.",
    ),
    "an item to add": (
        lambda cart: cart.add_items(new_item()),
        "items[0]: This must be Item or dict, not str. items[1]: ",
    ),
    "rows as items": (
        lambda cart: cart.replace_items(cart.items.all()),
        "items[0]: This must be Item or dict, not CartItem.",
    ),
}


@pytest.mark.parametrize(("write", "text"), CONTAINERS.values(), ids=CONTAINERS)
def test_what_is_no_list_of_values_is_refused_in_its_place(
    cart: Any, unchanged: Unchanged, write: Callable[[Any], Any], text: str
) -> None:
    with pytest.raises(ValidationError) as refused:
        write(cart)
    assert str(refused.value).startswith(text)


def test_items_may_be_records_mappings_and_of_any_iterable(cart: Any) -> None:
    old, names = cart.items.get(), ("Soup", "Salad", "Tea")
    soup, salad, tea = (ItemFactory(display_name=name) for name in names)
    written = cart.replace_items(one for one in (Item(**soup), salad | {"id": old.pk}))
    assert written == [*cart.items.all()]
    assert [str(item) for item in cart.items.all()] == ["2 × Soup", "2 × Salad"]
    assert cart.items.last() == old
    cart.add_items((Item(**tea),))
    cart.items.last().change(options=(Option(**OptionFactory()), OptionFactory()))
    assert cart.items.last().options.count() == 2


@pytest.mark.parametrize("version", ["3", 1.0, True, {"1"}], ids=str)
def test_a_version_is_an_integer(cart: Any, unchanged: Unchanged, version: Any) -> None:
    with pytest.raises(TypeError, match=r"A version is an integer, such as cart\.version\."):
        cart.change(note="x", version=version)


def test_an_error_says_where_it_is(cart: Any, unchanged: Unchanged) -> None:
    dollar = ItemFactory(currency="USD")
    with pytest.raises(CurrencyMismatch) as one:
        cart.add_item(**dollar)
    assert str(one.value) == "currency: The cart's currency is EUR."
    with pytest.raises(ApiErrors) as several:
        cart.add_items([dollar, ItemFactory(), dollar])
    assert str(several.value) == (
        "items[0].currency: The cart's currency is EUR. "
        "items[2].currency: The cart's currency is EUR."
    )


@pytest.mark.parametrize(
    ("ids", "text"),
    [
        ([None, None, "x"], "items[2].id: id must be a GUID: 8-4-4-4-12 hexadecimal digits."),
        ([SOME_ID, None, SOME_ID], "items[2].id: Another item of the list has this id."),
        ([SOME_ID, None], "items[0].id: The cart has no such item."),
    ],
)
def test_an_error_of_an_id_in_a_list_says_whose_it_is(
    cart: Any, unchanged: Unchanged, ids: list[Any], text: str
) -> None:
    with pytest.raises(ApiErrors) as refused:
        cart.replace_items(ItemFactory() | {"id": key} for key in ids)
    assert str(refused.value) == text


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("price", float("nan"), "This must be a number, not nan."),
        ("price", Decimal("sNaN"), "This must be a number, not Decimal('sNaN')."),
        ("price", Decimal("-Infinity"), "This must be a number, not Decimal('-Infinity')."),
        ("price", True, "This must be a number, not a boolean."),
        ("price", "9,50", "This must be a number, not '9,50'."),
        ("price", None, "This field must not be null."),
        ("price", 0.12345, "A price must not have more than 4 decimals."),
        ("price", "1e999999999", "A price must not be above 9999999999.9999."),
        ("quantity", 3.5, "This must be an integer, not 3.5."),
        ("quantity", float("inf"), "This must be an integer, not inf."),
        ("quantity", Decimal("2.5"), "This must be an integer, not Decimal('2.5')."),
        ("quantity", Decimal("NaN"), "This must be an integer, not Decimal('NaN')."),
        # Turned into an int, it would take minutes.
        ("quantity", "1e999999999", "This number must not be above 9999."),
        ("quantity", "1_0", "This must be an integer, not '1_0'."),
        ("quantity", "\u0663", "This must be an integer, not '\u0663'."),
        ("quantity", " 3 ", "This must be an integer, not ' 3 '."),
        ("quantity", "", "This must be an integer, not ''."),
        ("quantity", ".", "This must be an integer, not '.'."),
        ("quantity", "1e" + "9" * 20, f"This must be an integer, not '1e{'9' * 20}'."),
    ],
    ids=str,
)
def test_a_number_is_written_in_ascii_and_shown_as_it_was_given(
    cart: Any, unchanged: Unchanged, name: str, value: Any, text: str
) -> None:
    item = cart.items.get()
    for write in (
        lambda: cart.add_item(**ItemFactory(**{name: value})),
        lambda: item.change(**{name: value}),
    ):
        with pytest.raises(ValidationError) as refused:
            write()
        assert str(refused.value) == f"{name}: {text}"


@pytest.mark.parametrize("price", ["9.5", "+9.50", "95e-1", ".95E+1", 9.5, Decimal("9.5")], ids=str)
@pytest.mark.parametrize("quantity", [5, 5.0, Decimal("5.0"), "5"])
def test_a_number_may_be_a_text_or_a_float(cart: Any, price: Any, quantity: Any) -> None:
    assert cart.add_item(**ItemFactory(price=price, quantity=quantity)).value == Decimal("47.5")


def test_the_noise_of_a_double_is_taken_off_a_price(cart: Any) -> None:
    assert cart.add_item(**ItemFactory(price=0.1 + 0.2)).price == Decimal("0.3")


def test_a_value_that_is_not_given_is_required(unchanged: Unchanged) -> None:
    with pytest.raises(ValidationError) as refused:
        Item(**ItemFactory(price=None) | {"options": [{}]})
    codes = {place: error.code for place, [error] in refused.value.error_dict.items()}
    assert codes == {"price": "null"} | {
        f"options[0].{name}": "required" for name in Option._fields
    }


def test_a_reference_that_is_none_opens_nothing(cart: Any, unchanged: Unchanged) -> None:
    cart.close(outcome="ordered", reference="order-1")
    unchanged()
    with pytest.raises(ValidationError, match="reference: This field must not be null"):
        cart.reopen(reference=None)


@pytest.mark.parametrize("key", [lambda cart: cart, lambda cart: cart.pk, lambda c: str(c.pk)])
def test_a_cart_is_deleted_by_its_key_or_itself(cart: Any, key: Callable[[Any], Any]) -> None:
    Cart.objects.delete_cart(key(cart))
    assert not Cart.objects.exists()


def test_an_id_that_is_taken_is_refused(cart: Any, unchanged: Unchanged) -> None:
    other = CartFactory(profile_key=cart.profile_key)  # Citus holds ids apart by customer
    unchanged()
    for each in (cart, other):
        with (
            pytest.raises(InvalidGuid, match="id: There is an item with this id already"),
            atomic(),
        ):
            each.add_items([ItemFactory() | {"id": cart.items.get().pk}])


def test_a_cart_shows_what_it_is(cart: Any) -> None:
    holds = f"items 1, subtotal {cart.subtotal} EUR"
    assert repr(cart) == f"<Cart {cart.pk}: restaurant 4711, open, {holds}>"
    cart.close(outcome="ordered", reference="order-1")
    assert "restaurant 4711, ordered, items 1" in repr(cart)
    assert str(cart) == f"{cart.pk} of {cart.profile_key}"
