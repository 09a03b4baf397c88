"""Find the cart of somebody who has no id, or misread one."""

import uuid
from datetime import datetime, timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils.timezone import localtime
from uuid_utils.compat import uuid7

from carts.models import Cart
from carts.models.cart_change import Author
from cartsvc.guids import first_key_at
from tests.desk.conftest import CARTS, correct_page, form_of, found, page_of
from tests.support.factories import CartFactory, ItemFactory, OptionFactory, new_item

IDS = ("cart", "item", "customer")


@pytest.mark.parametrize("place", [*range(0, 8, 3), *range(8, 32, 7)])
@pytest.mark.parametrize("kind", IDS)
def test_an_id_with_one_wrong_digit_opens_what_was_meant(
    viewer: Client, kind: str, place: int
) -> None:
    """As one that is read over the phone: no click beyond the search."""
    ids = {name: uuid.UUID(int=(0x1900110 + n) << 96 | n) for n, name in enumerate(IDS)}
    for keys in ({name: uuid7() for name in IDS}, ids, {name: uuid7() for name in IDS}):
        cart: Cart = CartFactory(id=keys["cart"], profile_key=keys["customer"])
        Cart.objects.add_item(cart.pk, keys["item"], new_item())
    wrong = list(ids[kind].hex)
    wrong[place] = "9" if wrong[place] != "9" else "8"
    response = viewer.get(CARTS, {"q": "".join(wrong)}, follow=True)
    assert response.redirect_chain == [(f"{CARTS}{ids['cart']}/change/", 302)]
    assert "Nothing has this id. Below is one almost the same." in response.text


def test_two_digits_that_changed_places_are_as_one_wrong_digit(viewer: Client) -> None:
    cart = CartFactory(id=uuid.UUID("01900110-0000-7000-8000-1234567890ab"))
    CartFactory(id=uuid.UUID("01900110-0000-7000-8000-aaaaaaaaaaaa"))
    assert viewer.get(CARTS, {"q": "01900110-0000-7000-8000-1234567809ab"}).url == page_of(cart)


def test_a_request_that_is_called_like_a_cart_is_no_guess(viewer: Client, cart: Cart) -> None:
    request_id = str(uuid.uuid4())
    Cart.objects.by(Author("bearer", "kiosk", request_id)).change_cart(cart.pk, {"note": "x"})
    response = viewer.get(CARTS, {"q": request_id}, follow=True)
    assert response.redirect_chain == [(f"{page_of(cart)}?before=3#version-2", 302)]
    assert "almost" not in response.text


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
    assert "partner <bdi>P019</bdi>; dish, option or text <bdi>burger</bdi>" in (
        viewer.get(CARTS, {"q": "P019 burger"}).text
    )


def test_the_name_of_a_member_of_staff_finds_what_they_changed(
    viewer: Client, lead: Client, cart: Cart
) -> None:
    User.objects.filter(username="anna").update(first_name="Anna-Lena", last_name="Huber")
    CartFactory(items=[ItemFactory()])
    lead.post(correct_page(cart), {**form_of(lead, correct_page(cart)), "note": "x"})
    for term in ("anna", "ANNA", "Anna-Lena", "huber"):
        for more in ("", " pizza", " today"):
            assert found(viewer, q=term + more) == [cart], term
        assert "or staff <bdi>anna</bdi>" in viewer.get(CARTS, {"q": term}).text
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
    text = viewer.get(CARTS, {"q": f"{days[2]:%-d %b}"}).text
    assert f"created on {days[2]:%-d %b %Y}" in text
    viewer.cookies["timezone"] = "America/Los_Angeles"
    assert found(viewer, q=f"4711 {days[2]:%-d %b %Y}") == [before]


def test_what_is_no_day_that_has_carts_may_be_a_restaurant_and_a_dish(viewer: Client) -> None:
    cart = CartFactory(restaurant_key=1, items=[ItemFactory(display_name="March of pies")])
    day = f"1 {'Mar' if localtime().date().replace(day=1).month != 3 else 'pies'}"
    assert found(viewer, q=day) == [cart]
    for none in ("31 Feb", "99 Nov", "1 Jan 9999", "0000-00-00"):
        assert found(viewer, q=none) == []
