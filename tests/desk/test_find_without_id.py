"""Find the cart of somebody who has no id: by numbers, keys, dishes, amounts, days and names."""

import re
import uuid
from datetime import datetime, timedelta
from io import StringIO

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client
from django.utils.timezone import localtime

from carts.models import Cart
from cartsvc.guids import first_key_at
from tests.desk.conftest import CARTS, chips, correct_page, form_of, found
from tests.support.factories import CartFactory, ItemFactory, OptionFactory


def test_what_a_customer_remembers_finds_the_cart(viewer: Client, cart: Cart) -> None:
    item = ItemFactory(
        display_name="Burger",
        options=[OptionFactory(display_name="Hot chilis", price=0)],
        special_instructions="Cut in half",
    )
    wanted = CartFactory(
        partner_key="P019", items=[item], note="For Zoe", special_instructions="Ring at Lee"
    )
    CartFactory(partner_key="P019", items=[ItemFactory(display_name="Tea")])
    CartFactory(partner_key="P020", items=[ItemFactory(display_name="Fries")])
    day = wanted.created_on
    for term in (
        *("P019 burger", "p019 burger 20.20", "burger chilis", "half", "zoe", "Lee burger"),
        *(
            "today burger",
            f"{day:%-d %b} burger",
            f"{day:%Y-%m-%d} half",
            f"P019 {day:%d.%m.%Y} zoe",
        ),
        f"P019 {day:%B %-d, %Y} burger",
    ):
        assert found(viewer, q=term) == [wanted], term
    assert chips(viewer, q="P019 burger") == ["partner P019", "dish or text burger"]


def test_the_name_of_a_member_of_staff_finds_what_they_changed(
    viewer: Client, lead: Client, cart: Cart
) -> None:
    User.objects.filter(username="anna").update(first_name="Anna-Lena", last_name="Huber")
    CartFactory(items=[ItemFactory()])
    lead.post(correct_page(cart), {**form_of(lead, correct_page(cart)), "note": "x"})
    for term in ("anna", "ANNA", "Anna-Lena", "huber"):
        for more in ("", " pizza", " today"):
            assert found(viewer, q=term + more) == [cart], term
        assert chips(viewer, q=term) == [f"dish or text {term}, or changed by anna"]
    assert found(viewer, q="ben") == []


def made_at(moment: datetime, restaurant: int = 4711) -> Cart:
    key = uuid.UUID(int=first_key_at(moment).int | uuid.uuid4().int >> 64)
    cart: Cart = CartFactory(id=key, restaurant_key=restaurant)
    return cart


def test_a_day_is_that_of_the_viewer(viewer: Client) -> None:
    days = [localtime().replace(hour=0, minute=1) - timedelta(days=days) for days in range(3)]
    today, before, earlier = map(made_at, days)
    made_at(days[1], restaurant=27)
    for term, wanted in (
        ("today 4711", today),
        ("Yesterday 4711", before),
        (f"4711 {days[2]:%-d %b}", earlier),
        (f"{days[2]:%-d %B %Y}", earlier),
    ):
        assert found(viewer, q=term) == [wanted], term
    assert chips(viewer, q=f"{days[2]:%-d %b}") == [f"created on {days[2]:%-d %b %Y}"]
    viewer.cookies["timezone"] = "America/Los_Angeles"
    assert found(viewer, q=f"4711 {days[2]:%-d %b %Y}") == [before]


def test_a_day_without_a_cart_finds_none_and_may_be_taken_as_text(viewer: Client) -> None:
    """Such as a restaurant and a dish."""
    cart = CartFactory(restaurant_key=1, items=[ItemFactory(display_name="March of pies")])
    assert found(viewer, q="1 Mar 2000") == []
    assert found(viewer, q="restaurant 1 Mar") == [cart]
    for none in ("31 Feb", "99 Nov", "1 Jan 9999", "0000-00-00"):
        assert found(viewer, q=none) == []


@pytest.mark.parametrize(
    "term",
    [
        *(" 4711 ", "#4711", "4711.", "“4711”,", "'4711\t"),
        *("ACME", "acme", "ACME.", "“acme”"),
    ],
)
def test_a_number_or_a_partner_key_finds_carts_whatever_is_copied_along(
    viewer: Client, cart: Cart, others: list[Cart], term: str
) -> None:
    assert found(viewer, q=term) == [cart]


@pytest.mark.parametrize(
    "term",
    [
        *("no such thing", "%", "'", "٤٧١١١", "🍕" * 200, "{{ x }}", "xID", "ID0"),
        *("-5", "[", "(?", "a{9}", "\\", "***=", "¤"),
    ],
)
def test_what_is_no_key_finds_nothing(viewer: Client, cart: Cart, term: str) -> None:
    response = viewer.get(CARTS, {"q": term.replace("ID", str(cart.pk))})
    assert response.context["result"].carts == []
    assert "No cart matches. A restaurant's number, a partner's key" in response.text
    assert "without the filters" not in response.text


EITHER = ["dish or text burger", "dish or text 11"]


@pytest.mark.parametrize(
    ("item", "terms", "taken"),
    [
        ({"display_name": "Garlic naan"}, ["naan", "naan garlic", "“naan”"], None),
        ({"display_name": "GARLIC NAAN"}, ["#4711 garlic  N", "“4711, Garlic naan.”"], None),
        ({"display_name": "Garlic naan"}, ['"garlic naan"'], ["dish or text garlic naan"]),
        ({"display_name": "n%n G_rlic 5% 🍕 o'n"}, ["n%n", "G_rlic", "5%", "🍕", "o'n"], None),
        ({"display_name": "Cola 0.33", "price": "5"}, ["cola 0.33", "Cola 5 eur"], None),
        ({"price": "23.5"}, ["23.50", "23,50", "23.50 eur", "23.5 EUR"], ["amount 23.5 EUR"]),
        ({"price": "23.5"}, ["pizza 23.50"], ["dish or text pizza", "amount 23.50"]),
        ({"price": "23.5"}, ["23.5 EUR 4711"], ["amount 23.5 EUR", "restaurant 4711"]),
        ({"price": "23.5"}, ["4711 EUR 23.5"], ["restaurant 4711", "amount 23.5 EUR"]),
        ({"price": "1234.5"}, ["1,234.50", "1234.50"], ["amount 1234.50"]),
        ({"price": "1200"}, ["4711 1200 EUR", "1200.00", "1200 EUR"], ["amount 1200 EUR"]),
        ({"display_name": "Burger 11"}, ["4711 burger 11", "burger 11"], EITHER),
        ({"display_name": "Cup of tea"}, ["cup tea"], ["dish or text cup", "dish or text tea"]),
    ],
)
def test_a_dish_or_an_amount_finds_the_carts_with_it(
    viewer: Client, item: dict[str, str], terms: list[str], taken: list[str] | None
) -> None:
    held = ItemFactory(quantity=1, **item)
    wanted = CartFactory(items=[held])
    other = CartFactory(items=[held], restaurant_key=4712)
    # Of another subtotal, and with another dish.
    CartFactory(items=[held | {"display_name": "Nuon"}, ItemFactory(display_name="Tea")])
    for term in terms:
        carts = [wanted] if "4711" in term else [other, wanted]
        assert found(viewer, q=term) == carts, term
    if taken:
        assert chips(viewer, q=terms[-1]) == taken


@pytest.mark.parametrize(
    "term", ["", "naan", "4711 biryani", "ACME naan", "4711 1,23.4", "23", "pizza 23"]
)
def test_an_empty_or_wrong_search_says_what_can_be_searched(
    viewer: Client, cart: Cart, term: str
) -> None:
    response = viewer.get(CARTS, {"q": term})
    assert "An id of a cart, an item or a customer, or its first eight digits;" in response.text
    assert "or what somebody remembers, alone or together" in response.text
    assert ("No cart matches." in response.text) == bool(term)
    told = "An amount without decimals needs its currency, such as 24 EUR." in response.text
    assert told == bool(term)
    assert bool(response.context["result"].carts) == (not term)


def test_the_page_gives_an_example_that_the_demonstration_has(viewer: Client) -> None:
    call_command("demo_carts", stdout=StringIO())
    examples = re.findall("<q>(.+?)</q>", viewer.get(CARTS).text)
    assert [example.split()[0] for example in examples] == ["1002", "1002"]
    for example in examples:
        assert {cart.restaurant_key for cart in found(viewer, q=example)} == {1002}
    page = (settings.BASE_DIR / "carts/SUPPORT.md").read_text("utf-8")
    assert all(f"`{example}`" in page for example in examples)
