import re
import uuid
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from uuid_utils.compat import uuid7

from carts.models import Cart
from carts.models.cart_change import Author
from tests.desk.conftest import (
    CARTS,
    LOGIN,
    big_cart,
    events,
    form_of,
    item_page,
    items,
    marked,
    page_of,
    remove_page,
    words,
)
from tests.support import bodies
from tests.support.call_counts import count_calls
from tests.support.callers import Api
from tests.support.factories import CartFactory, ItemFactory, OptionFactory, new_item
from tests.support.table_contents import unguarded_rows


def test_a_cart_reads_like_the_order(viewer: Client) -> None:
    cart = CartFactory(
        note="Invoice to the office",
        special_instructions="Ring twice",
        currency="JPY",
        items=[
            ItemFactory(
                display_name="Ramen",
                currency="JPY",
                price="1200",
                quantity=2,
                special_instructions="No egg",
                options=[OptionFactory(display_name="Negi", currency="JPY", price="100")],
            )
        ],
    )
    unguarded_rows(Cart).update(created_on=timezone.now() - timedelta(days=2))
    response = viewer.get(page_of(cart))
    assert response.status_code == 200
    order = response.text.partition('<table class="order">')[2].partition("</table>")[0]
    words = " ".join(re.sub("<[^>]+>", " ", order).split())
    assert words.startswith(
        "Qty Item Price Value 2 × Ramen 1,200 2,600 1,300 each with options + Negi 100 No egg"
    )
    assert words.endswith("Subtotal in JPY without fees and tip 2,600")
    for text in (
        *(str(cart.id), str(cart.profile_key), "4711", "ACME", "MOBILE", "DELIVERY", "ios-app"),
        *("2\xa0days ago", "UTC", "Ring twice", "Invoice to the office"),
        "not known to be ordered",
    ):
        assert text in response.text
    assert "autofocus" not in response.text  # it would scroll away from the item


def test_the_time_line_tells_what_happened(viewer: Client, db: None) -> None:
    api = Api(scope="Cart.Write", sub="kiosk-7")
    item = bodies.bare_item(displayName="Soup", quantity=1)
    cart_id = api.post(body=bodies.bare_cart()).json()["data"]["cartId"]
    item_id = api.post(f"/{cart_id}/items", item).json()["data"]["itemId"]
    path = f"/{cart_id}/items/{item_id}"
    stew = {**item, "displayName": "Stew", "quantity": 3}
    assert api.put(path, stew, X_Request_ID="req-12345").status_code == 200
    assert api.delete(path).status_code == 200
    cart = Cart.objects.get(pk=cart_id)
    page = viewer.get(page_of(cart))
    told = page.context["timeline"]["events"]
    shown = [(c.version, c.operation, c.item_name, [*map(marked, lines)]) for c, lines, _ in told]
    assert shown == [
        (4, "Remove Item", "Stew", ["3 × [Stew], 10.10"]),
        (3, "Update Item", "Stew", ["name “[Soup]” → “[Stew]”", "quantity 1 → 3"]),
        (2, "Add Item", "Soup", ["1 × [Soup], 10.10"]),
        (1, "Create Cart", None, []),
    ]
    assert re.findall("subtotal (.+?)</p>", page.text) == [
        "30.30 → 0.00 EUR",
        "10.10 → 30.30 EUR",
        "0.00 → 10.10 EUR",
    ]
    assert words(page.text).count("· API kiosk-7") == 4
    assert told[1].change.request_id == "req-12345"
    assert 'request <span class="key">req-12345</span>' in page.text


def test_the_time_line_tells_what_an_item_was_before(viewer: Client) -> None:
    names = ("Rucola", "Speck")
    options = [OptionFactory(display_name=name) for name in names]
    item = CartFactory(items=[ItemFactory(options=options)]).items.get()
    item.change(options=options[1:], special_instructions="Without onions")
    item.change(special_instructions=None, options=[OptionFactory(display_name="Grana")])

    later, sooner = events(viewer, item.cart)[:2]

    assert [*map(marked, sooner.lines)] == [
        "− option [Rucola], 1.25",
        "instructions for the kitchen nothing → “[Without onions]”",
    ]
    assert [*map(marked, later.lines)] == [
        "− option [Speck], 1.25",
        "+ option [Grana], 1.25",
        "instructions for the kitchen “[Without onions]” → nothing",
    ]


@pytest.mark.parametrize(("quantity", "price"), [(1, 2), (3, 0)])
def test_what_one_costs_is_not_said_twice(viewer: Client, quantity: int, price: int) -> None:
    option = OptionFactory(price=price)
    cart = CartFactory(items=[ItemFactory(quantity=quantity, options=[option])])
    assert "each with options" not in viewer.get(page_of(cart)).text


def test_an_option_that_says_what_is_left_out_is_told_without_a_price(viewer: Client) -> None:
    plain = OptionFactory(display_name="No onions", price=0)
    item = CartFactory(items=[ItemFactory(options=[plain])]).items.get()
    item.change(options=[OptionFactory(display_name="Extra hot", price=1)])
    lines = [*map(marked, events(viewer, item.cart)[0].lines)]
    assert lines == ["− option [No onions]", "+ option [Extra hot], 1.00"]
    page = viewer.get(page_of(item.cart)).text
    for line in ("− option <bdi>No onions</bdi></span>", "+ option <bdi>Extra hot</bdi>, 1.00"):
        assert line in page


def test_an_update_that_changed_nothing_says_so(viewer: Client) -> None:
    same = ItemFactory()
    item = CartFactory(items=[same]).items.get()
    item.replace(**same)
    told = events(viewer, item.cart)[0]
    assert (told.change.operation, told.lines) == ("Update Item", ["nothing was changed"])


def test_a_long_time_line_is_read_page_by_page(
    viewer: Client, cart: Cart, django_assert_max_num_queries: Any
) -> None:
    item_id = items(cart)[0]["item_id"]
    carts = Cart.objects.by(Author("bearer", "b" * 80, "r" * 64))
    for _ in range(105):
        carts.replace_item(cart.pk, item_id, new_item(with_option=True))

    address, versions = "", []
    for number in range(1, 6):
        # session, account, two of permissions, cart, how long the changes are, a page of them,
        # whether there are older ones, whether all are kept, the notes
        with django_assert_max_num_queries(10):
            page = viewer.get(f"{page_of(cart)}{address}")
        found = page.context["timeline"]
        versions += [event.change.version for event in found["events"]]
        assert ("Earlier changes" in page.text) == (number < 5)
        address = f"?before={found.get('earlier')}"

    assert versions == [*range(106, 6, -1), 1]
    assert "5 changes after the creation are no longer kept" in page.text
    # What the cart was created with is not guessed.
    for before in ("?before=8", "?before=3", "?before=2"):
        created = events(viewer, cart, before)[-1]
        assert (created.change.operation, created.lines) == ("Create Cart", [])


def test_an_empty_cart_says_so(viewer: Client) -> None:
    assert "The cart is empty." in viewer.get(page_of(CartFactory())).text


@pytest.mark.parametrize("count", [1, 50])
def test_a_page_takes_9_queries(
    viewer: Client, count: int, django_assert_num_queries: Callable[[int], Any]
) -> None:
    cart = big_cart(count, 5)
    carts = Cart.objects.by(Author("staff", "anna"))
    carts.add_item(cart.pk, uuid7(), new_item())
    carts.remove_item(cart.pk, cart.items.last().pk)
    # session, user, two for the rights, the cart with all it holds, how long its changes are, those
    # of the page, whether there are older ones, the notes of staff
    with django_assert_num_queries(9):
        response = viewer.get(page_of(cart))
    assert len(response.context["items"]) == count


@pytest.mark.usefixtures("raised_limits")
def test_the_page_of_the_largest_cart_is_cheap(viewer: Client) -> None:
    text = "🍕" * 100
    chosen = [OptionFactory(display_name=text) for _ in range(10)]
    item = ItemFactory(display_name=text, special_instructions=text * 3, options=chosen)
    cart = CartFactory(items=[item] * 500)
    viewer.get(page_of(cart))
    cost, response = count_calls(lambda: viewer.get(page_of(cart)))
    assert cost < 1_750_000  # under a second
    assert len(response.context["items"]) == 500


def test_an_odd_author_shows_safely(lead: Client, cart: Cart) -> None:
    item_id = items(cart)[0]["item_id"]
    Cart.objects.by(Author("bearer", "a\u202eb")).replace_item(cart.pk, item_id, new_item())
    for url in (page_of(cart), item_page(cart)):
        response = lead.get(url)
        assert response.status_code == 200
    response = lead.post(remove_page(cart), {"version": "1"})
    assert response.status_code == 409
    assert "\u202e" not in response.text


def test_the_history_can_be_of_staff_only_newest_first(
    viewer: Client, lead: Client, cart: Cart, django_assert_num_queries: Callable[[int], Any]
) -> None:
    cart.change(note="Ring")
    log = f"{page_of(cart)}?staff"
    assert 'href="?staff#history-heading">Staff only</a>' in viewer.get(page_of(cart)).text
    assert "Staff have not changed this cart." in viewer.get(log).text
    User.objects.filter(username="anna").update(first_name="Anna", last_name="Ek")
    page = item_page(cart)
    lead.post(page, {**form_of(lead, page), "quantity": "7"})
    lead.post(f"{page}remove/", {"version": "3"})
    viewer.cookies["timezone"] = "Asia/Tokyo"
    # session, account, two of permissions, the cart, the entries
    with django_assert_num_queries(6):
        response = viewer.get(log)
    text = words(response.text[response.text.index("history-heading") :])
    assert "Change Cart" not in text
    first = text.index("Item “Pizza Margherita” removed")
    assert first < text.index("Item “Pizza Margherita”: quantity 2 → 7")
    assert re.search(r"\d{4}, \d\d:\d\d:\d\d JST · anna \(Anna Ek\)", text[first:])


def test_an_open_page_asks_whether_its_cart_has_changed(
    viewer: Client, cart: Cart, django_assert_num_queries: Callable[[int], Any]
) -> None:
    def ask(version: int) -> tuple[int, bytes]:
        headers = dict.fromkeys(("If-Match", "If-None-Match"), f'"{version}"')
        response = viewer.get(page_of(cart), headers=headers)
        return response.status_code, response.content

    assert 'data-version="1"><p hidden>' in viewer.get(page_of(cart)).text
    # It may ask for ever in a tab that nobody looks at, and makes the session no younger.
    User.objects.update(last_login=timezone.now() - timedelta(hours=7))
    # session, user, two for the rights, the cart
    with django_assert_num_queries(5):
        assert ask(1) == (304, b"")
    cart.change(note="Ring")
    with django_assert_num_queries(5):
        assert ask(1) == (412, b"")
    assert ask(2) == (304, b"")
    Cart.objects.delete_cart(cart.pk)
    assert ask(2) == (412, b"")
    assert "renewed" not in viewer.session
    viewer.session.flush()
    assert ask(2)[0] == 302
    assert "session has ended" not in viewer.get(LOGIN).text


def test_a_heading_is_read_without_the_buttons_beside_it(lead: Client, cart: Cart) -> None:
    page = lead.get(page_of(cart)).text
    headings = [
        words(found) for _, found in re.findall("<h([1-3]).*?>(.*?)</h\\1>", page, re.DOTALL)
    ]
    assert headings == [
        *("2 × Pizza Margherita · 22.70 EUR", "The order", "What will print", "In the kitchen"),
        *("For the customer", "History"),
    ]


@pytest.mark.parametrize("page", ["change", "history"])
def test_an_unknown_cart_is_said_to_be_unknown(viewer: Client, page: str) -> None:
    key = uuid.uuid4()
    response = viewer.get(f"{CARTS}{key}/{page}/", follow=True)
    assert response.redirect_chain[-1] == (f"{CARTS}?q={key}", 302)
    assert f"There is no cart {key}. Perhaps it was deleted?" in response.text
    for key in ("Call-0900-now", "1", "{{ x }}"):
        response = viewer.get(f"{CARTS}{key}/{page}/", follow=True)
        assert "There is no such cart. Perhaps it was deleted?" in response.text
        assert key == "1" or key not in response.text
