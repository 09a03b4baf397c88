"""The history on a cart's page: what a caller asks has its answer there, without a click."""

from decimal import Decimal

from django.test import Client

from carts.models import Cart
from carts.models.change import Author
from tests.desk.conftest import big_cart, events, page_of
from tests.support import bodies
from tests.support.callers import Api
from tests.support.carts import created_with_items
from tests.support.factories import CartFactory, ItemFactory, OptionFactory


def test_a_callers_three_questions_are_answered(viewer: Client, db: None) -> None:
    api = Api(sub="kiosk-7")
    soup = bodies.bare_item(
        displayName="Soup", price=4.5, quantity=2, specialInstructions="Without onions"
    )
    cart_id = api.post(body=bodies.bare_cart(items=[soup])).json()["data"]["cartId"]
    item_id = api.get(f"/{cart_id}").json()["data"]["items"][0]["itemId"]
    stew = bodies.bare_item(displayName="Stew", price=6, quantity=1)
    api.put(f"/{cart_id}/items/{item_id}", stew)
    page = viewer.get(page_of(Cart.objects.get())).text

    # Did I not say "without onions"?
    assert "<bdi>    “Without onions”</bdi>" in page
    assert "instructions for the kitchen “Without onions” → nothing" in page
    # Why is the total different?
    assert "subtotal 9.00 → 6.00 EUR" in page
    # What was it before?
    assert "<bdi>2 × Soup, 4.50</bdi>" in page
    assert "name “Soup” → “Stew”" in page


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


def test_a_creation_is_not_guessed_when_a_change_is_missing(viewer: Client) -> None:
    item = CartFactory(items=[ItemFactory()]).items.get()
    for number in range(101):
        item.change(quantity=number + 3)
    for before in ("?before=8", "?before=3", "?before=2"):
        created = events(viewer, item.cart, before)[-1]
        assert (created.change.operation, created.lines) == ("Create Cart", [])


def test_of_a_large_creation_the_first_lines_are_shown(viewer: Client) -> None:
    created = events(viewer, big_cart(60, 3))[-1]
    # An item is one line, and so is each of its options.
    assert len(created.lines) == 53
    assert created.lines[-1] == "… and 47 more"


def test_a_record_of_no_item_of_the_cart_breaks_no_page(viewer: Client, cart: Cart) -> None:
    cart.items.get().change(quantity=7)
    cart.changes.all().update(item_id=cart.pk)
    assert viewer.get(page_of(cart)).status_code == 200


def test_the_reason_shows_in_the_history_and_nowhere_at_the_api(viewer: Client, api: Api) -> None:
    cart_id, _ = created_with_items(api, "Calzone")
    author = Author("staff", "anna", why="<b>Out of olives</b>")
    Cart.objects.by(author).add_item(cart_id, ItemFactory())
    page = viewer.get(page_of(Cart.objects.get())).text
    assert "Why: <bdi>&lt;b&gt;Out of olives&lt;/b&gt;</bdi>" in page
    for path in (f"/{cart_id}", ""):
        answer = api.get(path).content.decode()
        assert "olives" not in answer
        assert "why" not in answer
