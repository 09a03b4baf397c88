"""What the search takes each word for, how that is turned, and what was so once."""

import re
from html import unescape
from typing import Any

import pytest
from django.test import Client

from carts.models import Cart
from tests.desk.conftest import CARTS, chips, found, page_of, words
from tests.support.factories import CartFactory, ItemFactory


def followed(client: Client, query: str, label: str) -> list[Any]:
    """Return the carts behind a link of the chips."""
    text = client.get(CARTS, {"q": query}).text
    links = re.findall('<a [^>]*href="([^"]+)"[^>]*>(.*?)</a>', text.partition("chips")[2])
    (url,) = [unescape(url) for url, shown in links if words(shown) == label]
    return list(client.get(CARTS + url).context["result"].carts)


@pytest.fixture
def ordered(db: None) -> Cart:
    """A cart of which the order number is a restaurant's."""
    ordered: Cart = CartFactory(restaurant_key=7, items=[ItemFactory(display_name="Tea")])
    ordered.close(outcome="ordered", reference="ORD-900001", order_reference="1002")
    return ordered


@pytest.fixture
def of_restaurant(db: None) -> Cart:
    cart: Cart = CartFactory(restaurant_key=1002, items=[ItemFactory(display_name="Menu 1002")])
    return cart


def test_a_word_is_turned_into_its_other_meanings(
    viewer: Client, ordered: Cart, of_restaurant: Cart
) -> None:
    assert chips(viewer, q="1002") == ["restaurant 1002"]
    assert found(viewer, q="1002") == [of_restaurant]
    turned = f"{CARTS}?q=reference%3A1002"
    assert f'href="{turned.removeprefix(CARTS)}"' in viewer.get(CARTS, {"q": "1002"}).text
    assert viewer.get(turned).url == page_of(ordered)
    assert followed(viewer, "1002", "dish or text 1002?") == [of_restaurant]
    assert followed(viewer, "text:1002 menu", "restaurant 1002?") == [of_restaurant]


def test_a_word_is_taken_off(viewer: Client, ordered: Cart, of_restaurant: Cart) -> None:
    text = viewer.get(CARTS, {"q": "1002 tea"}).text
    without = [unescape(one) for one in re.findall('href="([^"]+)" aria-label="Search with', text)]
    assert [found(viewer, q=one.partition("=")[2]) for one in without] == [
        [ordered],
        [of_restaurant],
    ]


@pytest.mark.parametrize(
    "term",
    ["ORD-900001", "ord-900001", "order ORD-900001", "Payment ord-900001", "tea ORD-900001."],
)
def test_a_reference_is_found_alone_or_not(viewer: Client, ordered: Cart, term: str) -> None:
    CartFactory(items=[ItemFactory(display_name="Tea for ORD-900001")])
    assert viewer.get(CARTS, {"q": term}).url == page_of(ordered)


def test_what_is_said_of_a_word_is_taken_so(
    viewer: Client, ordered: Cart, of_restaurant: Cart
) -> None:
    """Although nothing is, so: there is no guess at anything else."""
    of_restaurant.items.get().change(display_name="Menu 9999", price=12, quantity=1)
    for term, label, carts in (
        ("restaurant 9999", "restaurant 9999", []),
        ("Restaurant:1002", "restaurant 1002", [of_restaurant]),
        ("reference:9999", "reference 9999", []),
        ("partner 9999", "partner 9999", []),
        ("amount:12", "amount 12", [of_restaurant]),
        ("text:9999", "dish or text 9999", [of_restaurant]),
        ('text:"menu 9999"', "dish or text menu 9999", [of_restaurant]),
        ("9999", "dish or text 9999", [of_restaurant]),
        ("cart 9999", "dish or text 9999", [of_restaurant]),
    ):
        assert found(viewer, q=term) == carts, term
        assert chips(viewer, q=term) == [label]
    assert followed(viewer, "1002", "amount 1002?") == []
    assert followed(viewer, "12", "amount 12?") == [of_restaurant]


def test_a_reference_of_several_words_is_found(viewer: Client, cart: Cart) -> None:
    cart.close(outcome="ordered", reference="Table 4, Zoe")
    assert viewer.get(CARTS, {"q": "Table 4, Zoe"}).url == page_of(cart)


def test_the_links_of_a_cart_mean_its_keys(
    viewer: Client, ordered: Cart, of_restaurant: Cart
) -> None:
    """Whatever number somebody's order has."""
    other = CartFactory(profile_key=of_restaurant.profile_key, restaurant_key=8)
    CartFactory(restaurant_key=9).close(outcome="ordered", reference=str(of_restaurant.profile_key))
    page = viewer.get(page_of(of_restaurant)).text
    for label, wanted in (
        ("All carts of this customer", [other, of_restaurant]),
        ("Carts of this restaurant", [of_restaurant]),
    ):
        (url,) = re.findall(f'href="([^"]+)">{label}', page)
        assert viewer.get(url).context["result"].carts == wanted
    assert found(viewer, q=str(of_restaurant.profile_key)) == [other, of_restaurant]


def test_a_status_is_a_word(viewer: Client, ordered: Cart, of_restaurant: Cart) -> None:
    assert found(viewer, q="ordered") == [ordered]
    assert found(viewer, q="Open 1002") == [of_restaurant]
    assert found(viewer, q="abandoned") == []
    assert chips(viewer, q="checkout 1002") == ["checkout", "restaurant 1002"]


def test_a_day_stands_before_a_restaurant(viewer: Client, of_restaurant: Cart) -> None:
    day = f"{of_restaurant.created_on:%-d %b}"
    assert found(viewer, q=f"{day} 1002") == [of_restaurant]
    assert chips(viewer, q="27 Nov 1002") == [
        chips(viewer, q="27 Nov")[0],
        "restaurant 1002",
    ]


def test_what_a_cart_held_once_is_found_and_said_to_be_old(viewer: Client) -> None:
    was: Cart = CartFactory(restaurant_key=1002, items=[ItemFactory(price="29.7", quantity=1)])
    was.items.get().change(price="31")
    renamed: Cart = CartFactory(items=[ItemFactory(display_name="Calzone")])
    item = renamed.items.get()
    values = ItemFactory(display_name="Diavola")
    item.replace(**values)
    replaced: Cart = CartFactory(items=[ItemFactory(display_name="Quattro stagioni")])
    replaced.replace_items([])
    still: Cart = CartFactory(restaurant_key=1002, items=[ItemFactory(price="29.7", quantity=1)])
    for term, carts, marks in (
        ("1002 29.70", [still, was], 1),
        ("29.70 EUR", [still, was], 1),
        ("29.70 USD", [], 0),
        ("calzone", [renamed], 1),
        ("diavola", [renamed], 0),
        ("STAGIONI", [replaced], 1),
        ("quantity", [], 0),
        ("EUR", [], 0),
    ):
        response: Any = viewer.get(CARTS, {"q": term})
        assert response.context["result"].carts == carts, term
        assert response.text.count("as it was once") == marks, term


def test_too_many_words_are_told(viewer: Client, cart: Cart) -> None:
    response: Any = viewer.get(CARTS, {"q": "pizza " * 11})
    assert "Search for at most 10 words." in response.text
    assert '<details class="filters">' in response.text
    assert response.context["result"].carts == []


def test_a_moved_cart_is_found_by_the_beginning_of_the_guests_key(
    viewer: Client, cart: Cart
) -> None:
    guest = str(cart.profile_key)
    cart.move("7c9e6679-7425-40de-944b-e07fc1f90ae7")
    for term in (guest, guest[:8], guest[:13]):
        text = words(viewer.get(CARTS, {"q": term}).text)
        assert f"to another one, the newest: {cart.pk}, moved at" in text
