"""Find what has an id: whole, its beginning, or misread."""

import uuid

import pytest
from django.test import Client
from uuid_utils.compat import uuid7

from carts.models import Cart
from carts.models.cart_change import Author
from tests.desk.conftest import CARTS, chips, found, item_of, items, page_of, words
from tests.support import bodies
from tests.support.callers import Api
from tests.support.factories import CartFactory, ItemFactory, new_item
from tests.support.table_contents import unguarded_rows


def spellings(key: uuid.UUID) -> list[str]:
    """Return what is pasted into the search box for an id."""
    other = uuid.UUID(int=0)
    texts = [
        *("{0}", "\t{0} \n", "“{0}”", '"{0}",', "({0}).", "Cart {0}", "\u200b{0}\ufeff"),
        '{{"cartId": "{0}"}}',
        "https://desk.example.com/admin/carts/cart/{0}/change/",
        f"https://desk.example.com/admin/carts/cart/{other}/change/#item-{{0}}",
        f"https://api.example.com/v2.0/customers/{other}/carts/{{0}}",
    ]
    dashes = "\u2010\u2011\u2012\u2013\u2014\u2015"
    return [
        *(text.format(key) for text in texts),
        *(str(key).replace("-", dash) for dash in dashes),
        *(str(key).upper(), key.hex, f"{{{key}}}"),
    ]


def test_an_id_is_found_however_it_is_pasted(
    viewer: Client, cart: Cart, others: list[Cart]
) -> None:
    for term in spellings(cart.pk):
        assert viewer.get(CARTS, {"q": term}).url == page_of(cart)
    for term in spellings(items(cart)[0]["item_id"]):
        assert viewer.get(CARTS, {"q": term}).url == item_of(cart)
    second = CartFactory(profile_key=cart.profile_key)
    for term in spellings(cart.profile_key):
        assert found(viewer, q=term) == [second, cart]


def test_the_id_of_a_cart_that_staff_changed_opens_the_cart(lead: Client, cart: Cart) -> None:
    lead.post(f"{CARTS}{cart.pk}/note/", {"version": 1, "why": "Called"})
    assert lead.get(CARTS, {"q": str(cart.pk)}).url == page_of(cart)


@pytest.mark.parametrize(
    "term",
    ["{0:.8}", "{0:.8}-", "{0:.14}", "{0:.30}", "#{0:.13}…", "Cart {0:.10}", "\u201c{0:.20}\u201d"],
)
def test_a_beginning_of_an_id_opens_the_cart(
    viewer: Client, cart: Cart, others: list[Cart], term: str
) -> None:
    """The ids are of different times, as they are unless a minute has many carts."""
    item_id = items(cart)[0]["item_id"]
    customer = CartFactory(profile_key=uuid.UUID(int=2**127))
    old = CartFactory(id=uuid.UUID("01900000-0000-7000-8000-00000000000a"))
    assert viewer.get(CARTS, {"q": term.format(str(old.pk))}).url == page_of(old)
    assert viewer.get(CARTS, {"q": term.format(str(customer.profile_key))}).url == page_of(customer)
    unguarded_rows(Cart).exclude(pk=cart.pk).delete()
    assert viewer.get(CARTS, {"q": f"{item_id}"[:35]}).url == page_of(cart)


def test_an_id_is_found_with_any_separators(viewer: Client) -> None:
    cart = CartFactory(id=uuid.UUID("01900110-0000-7000-8000-00000000000a"))
    whole = str(cart.pk)
    for separator in (" ", ".", "/", ":", "_", "\n", " - "):
        assert viewer.get(CARTS, {"q": whole.replace("-", separator)}).url == page_of(cart)


def test_what_differs_in_a_digit_is_listed_if_there_are_several(
    viewer: Client, others: list[Cart]
) -> None:
    carts = [CartFactory(id=uuid.UUID(f"01900110-0000-7000-8000-00000000000{n}")) for n in "12"]
    wrong = "01900110-0000-7000-8000-00000000000a"
    assert found(viewer, q=wrong) == carts[::-1]
    assert chips(viewer, q=wrong) == [f"almost {wrong}"]


def test_an_id_that_does_not_exist_says_so(viewer: Client, others: list[Cart]) -> None:
    """It lists no strangers that begin alike."""
    CartFactory(id=uuid.UUID("01900110-0000-7000-8000-000000000001"))
    wrong = "01900110-1234-7000-8000-000000000001"
    assert found(viewer, q=wrong) == []
    page = words(viewer.get(CARTS, {"q": wrong}).text)
    assert "No cart has this id." in page
    assert "its beginning, of at least" not in page


@pytest.mark.parametrize("digit", "0123456789abcdef")
def test_an_id_that_nobody_made_finds_nothing(viewer: Client, cart: Cart, digit: str) -> None:
    for term in (digit * 32, digit * 8, f"{digit * 12}7{digit * 3}8{digit * 15}"):
        response = viewer.get(CARTS, {"q": term})
        assert response.context["result"].carts == []


@pytest.mark.parametrize("term", ["99999999999", "fedcba98", "fedc98"])
def test_an_id_that_finds_nothing_says_how_ids_are_found(
    viewer: Client, cart: Cart, term: str
) -> None:
    text = viewer.get(CARTS, {"q": term}).text
    assert "An id is found by its beginning, of at least eight digits." in text


@pytest.mark.parametrize("request_id", ["req-12345", "3f0c" * 8])
def test_a_request_id_opens_its_event(
    viewer: Client, cart: Cart, others: list[Cart], request_id: str
) -> None:
    Cart.objects.by(Author("bearer", "kiosk", request_id)).add_item(cart.pk, uuid7(), new_item())
    cart.add_item(**ItemFactory())
    response = viewer.get(CARTS, {"q": request_id}, follow=True)
    assert response.redirect_chain == [(f"{page_of(cart)}?before=3#version-2", 302)]
    assert '<li id="version-2">' in response.text
    made = Api().post(body=bodies.bare_cart(), X_Request_ID="r.made-7").json()["data"]["cartId"]
    created = f"{CARTS}{made}/change/?before=2#version-1"
    assert viewer.get(CARTS, {"q": "r.made-7"}).url == created


IDS = ("cart", "item", "customer")


@pytest.mark.parametrize("place", range(32))
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
