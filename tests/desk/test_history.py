"""The history on a cart's page: what a caller asks has its answer there, without a click."""

from decimal import Decimal

from django.test import Client
from uuid_utils.compat import uuid7

from carts.models import Cart
from carts.models.change import Author
from tests.desk.conftest import big_cart, events, page_of
from tests.support.callers import Api
from tests.support.carts import created_with_items
from tests.support.factories import CartFactory, ItemFactory, OptionFactory, new_item


def test_a_creation_shows_the_items_of_then_in_their_order(viewer: Client) -> None:
    names = ["Soup", "Pizza", "Cola", "Gelato", "Coffee"]
    option = OptionFactory(display_name="Large")
    contents = [ItemFactory(display_name=name, quantity=1, options=[option]) for name in names]
    cart = CartFactory(items=contents)
    soup, pizza, cola, gelato, _ = cart.items.all()
    created = events(viewer, cart)[-1]
    assert created.lines == [
        line for name in names for line in (f"1 × {name}, 10.10", "    + Large, 1.25")
    ]

    gelato.remove()
    soup.remove()
    pizza.change(quantity=5)
    pizza.replace(**ItemFactory(display_name="Calzone"))
    cart.add_item(**ItemFactory(display_name="Tea"))
    cart.add_item(id=soup.pk, **ItemFactory(display_name="Soup of the day"))
    cart.change(note="Thanks")
    cola.remove()

    still = events(viewer, cart)[-1]
    assert still.lines == created.lines
    for name in ("version", "at", "author", "operation", "item_id"):
        assert getattr(still.change, name) == getattr(created.change, name)


def test_a_creation_is_rebuilt_on_the_last_of_several_pages(viewer: Client) -> None:
    item = CartFactory(items=[ItemFactory(price=Decimal(5), quantity=1)]).items.get()
    for number in range(45):
        item.change(quantity=number + 2)
    assert "Create Cart" not in viewer.get(page_of(item.cart)).text
    last = events(viewer, item.cart, "?before=7")[-1]
    assert (last.change.operation, last.lines) == ("Create Cart", ["1 × Pizza Margherita, 5.00"])


def test_of_a_large_creation_the_first_lines_are_shown(viewer: Client) -> None:
    created = events(viewer, big_cart(60, 3))[-1]
    # An item is one line, and so is each of its options.
    assert len(created.lines) == 53
    assert created.lines[-1] == "… and 47 more"


def test_the_reason_shows_nowhere_at_the_api(api: Api) -> None:
    cart_id, _ = created_with_items(api, "Calzone")
    Cart.objects.by(Author("staff", "anna", why="Out of olives")).add_item(
        cart_id, uuid7(), new_item()
    )
    for path in (f"/{cart_id}", ""):
        answer = api.get(path).content.decode()
        assert "olives" not in answer
        assert "why" not in answer
