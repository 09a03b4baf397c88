"""What the page of a cart says of it at the top, and where it leads from there."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from pytest_django import Settings

from carts.models import Cart
from tests.desk.conftest import (
    CARTS,
    big_cart,
    found,
    item_page,
    marked,
    page_of,
    remove_page,
    staff,
    words,
)
from tests.support.factories import CartFactory, ItemFactory


@pytest.mark.parametrize(
    ("names", "summary"),
    [
        (["Pizza <b>"], "2 × [Pizza &lt;b&gt;] · 20.20 EUR"),
        (["A", "B", "C", "D"], "2 × [A], 2 × [B], 2 × [C], … · 80.80 EUR"),
        ([], "Empty cart · 0.00 EUR"),
    ],
)
def test_heading_and_tab_tell_one_cart_from_another(
    viewer: Client, names: list[str], summary: str
) -> None:
    cart = CartFactory(items=[ItemFactory(display_name=name) for name in names])
    page = marked(viewer.get(page_of(cart)).text)
    tab = f"{summary} · restaurant 4711 · Cart {cart.pk} · Support desk"
    assert f"<title>{tab}</title>" in page
    heading = summary.replace("[", "<bdi>").replace("]", "</bdi>")
    assert f'<h1><span dir="ltr">{heading}</span></h1>' in page


def ways(client: Client, cart: Cart) -> dict[str, str]:
    """Return the links above the facts of a cart: where each leads, by its words."""
    (nav,) = re.findall('<nav class="ways.*?</nav>', client.get(page_of(cart)).text, re.DOTALL)
    return {text: url for url, text in re.findall('href="(.*?)">(.*?)</a>', nav)}


def test_a_cart_leads_to_its_customers_its_restaurants_and_the_companys_own_pages(
    viewer: Client, cart: Cart, settings: Settings
) -> None:
    own = {
        "All carts of this customer": f"{CARTS}?profile_key={cart.profile_key}",
        "Carts of this restaurant": f"{CARTS}?restaurant_key=4711",
        "History": "#history-heading",
    }
    assert ways(viewer, cart) == own
    settings.RESTAURANT_URL = "https://menus.example.com/r/{key}?tab=1&x=y"
    settings.CUSTOMER_URL = "https://crm.example.com/{key}"
    assert ways(viewer, cart) == own | {
        "The customer's page": f"https://crm.example.com/{cart.profile_key}",
        "The restaurant's page": "https://menus.example.com/r/4711?tab=1&amp;x=y",
    }
    for page in (CARTS, page_of(cart)):
        shown = viewer.get(page).text
        assert 'href="https://menus.example.com/r/4711?tab=1&amp;x=y">4711</a>' in shown
    assert f'href="https://crm.example.com/{cart.profile_key}">{cart.profile_key}</a>' in shown


def test_it_says_when_a_cart_expires_if_it_does(
    viewer: Client, cart: Cart, settings: Settings
) -> None:
    assert "Expires" not in viewer.get(page_of(cart)).text
    settings.CART_DAYS = 30
    expires = Cart.objects.get().modified_on + timedelta(days=30)
    assert f"Expires{expires:%-d %b %Y, %H:%M} UTC" in words(viewer.get(page_of(cart)).text)
    cart.close(outcome="ordered", reference="ORD-1")
    settings.ORDERED_CART_DAYS = 0
    assert "Expires" not in viewer.get(page_of(cart)).text


def test_it_says_whom_to_ask_for_a_copy_or_an_erasure(viewer: Client, cart: Cart) -> None:
    page = words(viewer.get(page_of(cart)).text)
    assert "A copy or the erasure of their dataAsk whoever runs this service" in page
    for command in ("export_customer", "erase_customer"):
        assert f"manage.py {command} {cart.profile_key}" in page


@pytest.mark.parametrize("status", ["checkout", "ordered", "abandoned", "open"])
def test_a_status_stands_out_with_its_word(viewer: Client, cart: Cart, status: str) -> None:
    CartFactory().close(outcome="ordered" if status != "ordered" else "checkout", reference="X")
    if status != "open":
        cart.close(outcome=status, reference="ORD-1")
    assert found(viewer, status=status) == [cart]
    for page in (CARTS, page_of(cart)):
        assert f'class="status {status}">{status}<' in viewer.get(page).text


STOPS = re.compile("<a [^>]*href|<button|<summary|<input(?! type=.hidden)|<select|tabindex=.0")


def stops(client: Client, cart: Cart) -> int:
    """Return how often Tab is pressed from the top of the page to its end, or fewer times."""
    return len(STOPS.findall(client.get(page_of(cart)).text.partition("<body")[2]))


def test_many_items_have_a_filter_and_one_stop_each(lead: Client, db: Any) -> None:
    small, large = big_cart(25, 1), big_cart(200, 1)
    assert stops(lead, small) > 5 * 25
    assert 'id="items-with"' not in lead.get(page_of(small)).text
    page = lead.get(page_of(large)).text
    assert 'id="items-with"' in page
    assert stops(lead, large) < 200 + 60
    # The form of each has the others.
    form = lead.get(item_page(large)).text
    (item_id,) = re.findall("items/([^/]+)/$", item_page(large))
    assert f'href="{remove_page(large)}"' in form
    assert f'href="{CARTS}{large.pk}/items/add/?like={item_id}"' in form
    viewer = staff("Cart support", name="ben")
    assert viewer.get(page_of(large)).text.count("Menu data<") == 200


def test_a_tab_tells_a_deleted_cart(lead: Client, cart: Cart) -> None:
    Cart.objects.delete_cart(cart.pk)
    page = lead.get(page_of(cart), follow=True).text
    assert f"<title>Deleted cart {cart.pk} · Support desk</title>" in page
