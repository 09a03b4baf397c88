import re
import uuid
from io import StringIO

import pytest
from django.conf import settings
from django.core.management import call_command
from django.test import Client
from uuid_utils.compat import uuid7

from carts.models import Cart
from carts.models.cart_change import Author
from tests.desk.conftest import CARTS, found, item_of, items, page_of, staff
from tests.support import bodies
from tests.support.callers import STRANGER, Api
from tests.support.factories import CartFactory, ItemFactory, new_item
from tests.support.table_contents import unguarded_rows


@pytest.fixture
def others(db: None) -> list[Cart]:
    return [CartFactory(restaurant_key=1, partner_key="BIST") for _ in range(3)]


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


def test_one_wrong_digit_lists_what_begins_alike(viewer: Client, others: list[Cart]) -> None:
    carts = [CartFactory(id=uuid.UUID(f"01900110-0000-7000-8000-00000000000{n}")) for n in "12"]
    for term, meant in (
        ("01900110-0000-7000-8000-00000000000a", "an id that is almost"),
        ("01900110-1234-7000-8000-000000000001", "an id that begins with"),
    ):
        response = viewer.get(CARTS, {"q": term})
        assert response.context["result"].carts == carts[::-1]
        assert f"{meant} <bdi>01900110" in response.text


@pytest.mark.parametrize("digit", "0123456789abcdef")
def test_an_id_that_nobody_made_finds_nothing(viewer: Client, cart: Cart, digit: str) -> None:
    for term in (digit * 32, digit * 8, f"{digit * 12}7{digit * 3}8{digit * 15}"):
        response = viewer.get(CARTS, {"q": term})
        assert response.context["result"].carts == []


@pytest.mark.parametrize("term", [str(uuid.UUID(int=5)), "99999999999", "fedcba98", "fedc98"])
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


def test_the_reference_of_a_cart_that_was_reopened_is_said_not_to_be_found(
    viewer: Client, cart: Cart
) -> None:
    cart.close(outcome="checkout", reference="payment-4711")
    assert viewer.get(CARTS, {"q": "payment-4711"}).url == page_of(cart)
    cart.reopen()
    text = viewer.get(CARTS, {"q": "payment-4711"}).text
    assert "No cart matches." in text
    assert "The reference of a cart that was reopened is not found." in text


@pytest.mark.parametrize(
    ("item", "terms", "understood"),
    [
        ({"display_name": "Garlic naan"}, ["naan", "naan garlic", "“naan”"], ""),
        ({"display_name": "GARLIC NAAN"}, ["#4711 garlic  N", "“4711, Garlic naan.”"], ""),
        ({"display_name": "n%n G_rlic 5% 🍕 o'n"}, ["n%n", "G_rlic", "5%", "🍕", "o'n"], ""),
        ({"display_name": "Cola 0.33", "price": "5"}, ["cola 0.33", "Cola 5 eur", "0.33 cola"], ""),
        ({"price": "23.5"}, ["23.50", "23,50", "23.50 eur", "23.5 EUR"], ""),
        ({"price": "23.5"}, ["4711 23.50", "4711 23.5 EUR", "pizza 23.50"], "subtotal 23.50"),
        ({"price": "1234.5"}, ["1,234.50", "1234.50"], "subtotal 1234.50"),
        ({"price": "1200"}, ["4711 1200 EUR", "1200.00", "1200 EUR"], ""),
        (
            {"display_name": "Burger 11"},
            ["burger 11", "4711 burger 11"],
            "dish, option or text burger; dish, option or text 11",
        ),
        ({"price": "3150"}, ["3150 JPY"], "subtotal 3150"),
        ({"price": "27.4"}, ["27.40 pizza EUR", "EUR pizza 27.40"], "text pizza; subtotal 27.40"),
        ({"display_name": "Cup of tea"}, ["cup of tea"], "text of; dish, option or text tea"),
    ],
)
def test_a_dish_or_an_amount_finds_the_carts_with_it(
    viewer: Client, item: dict[str, str], terms: list[str], understood: str
) -> None:
    held = ItemFactory(quantity=1, **item)
    wanted = CartFactory(items=[held])
    other = CartFactory(items=[held], restaurant_key=4712)
    # Of another subtotal, and with another dish.
    CartFactory(items=[held | {"display_name": "Nuon"}, ItemFactory(display_name="Tea")])
    for term in terms:
        carts = [wanted] if "4711" in term else [other, wanted]
        response = viewer.get(CARTS, {"q": term})
        assert response.context["result"].carts == carts, term
        (said,) = re.findall("Understood as: (.*)</p>", response.text)
    assert re.sub("<[^>]+>", "", said).endswith(understood)


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


@pytest.mark.parametrize("url", [CARTS, f"{CARTS}{STRANGER}/change/"])
def test_nobody_else_sees_carts(db: None, url: str) -> None:
    assert Client().get(url).url.startswith("/admin/login/")
    assert staff().get(url).status_code == 403


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
