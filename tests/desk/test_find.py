import re
import uuid
from collections.abc import Callable
from datetime import datetime, timedelta
from html import unescape
from io import StringIO
from itertools import chain
from typing import Any, cast

import pytest
from django.conf import settings
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from carts.admin import search
from carts.models import Cart
from tests.desk.conftest import CARTS, big_cart, item_of, items, page_of, staff
from tests.support.callers import STRANGER
from tests.support.factories import CartFactory, ItemFactory


def found(client: Client, **query: object) -> list[Any]:
    response = client.get(CARTS, query)
    assert response.status_code == 200
    return list(response.context["page"].carts)


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


@pytest.mark.parametrize(
    "term",
    [" 4711 ", "#4711", "4711.", "“4711”,", "'4711\t", "ACME", "acme", "ACME.", "“acme”"],
)
def test_a_number_or_a_partner_key_finds_carts_whatever_is_copied_along(
    viewer: Client, cart: Cart, others: list[Cart], term: str
) -> None:
    assert found(viewer, q=term) == [cart]


def test_a_partner_key_may_end_with_such_a_character(viewer: Client) -> None:
    cart = CartFactory(partner_key="#A.")
    assert found(viewer, q="#a.") == [cart]


@pytest.mark.parametrize(
    "term",
    [
        *("no such thing", "%", "'", "٤٧١١١", "🍕" * 200, "{{ x }}", "xID", "ID0"),
        *("-5", "99999999999", str(uuid.UUID(int=5))),
    ],
)
def test_what_is_no_key_finds_nothing(viewer: Client, cart: Cart, term: str) -> None:
    response = viewer.get(CARTS, {"q": term.replace("ID", str(cart.pk))})
    assert response.context["page"].carts == []
    assert "No cart matches. An id must be whole (36 characters)" in response.text
    assert "without the filters" not in response.text


def test_filters_that_hide_what_is_searched_can_be_left_out(viewer: Client, cart: Cart) -> None:
    response = viewer.get(CARTS, {"q": "a/c&d?", "platform": "none"})
    assert "Carts may have been deleted since." in response.text
    assert '<a href="?q=a%2Fc%26d%3F">search without the filters</a>' in response.text
    response = viewer.get(CARTS, {"platform": "none"})
    assert "An id must be whole" not in response.text
    assert '<a href="?q=">search without the filters</a>' in response.text


PLACE, TIME = "This address does not name a place in the list.", "Enter a valid date/time."


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [("before", "zzz", PLACE), ("after", "zzz", PLACE), ("created_from", "yesterday", TIME)],
)
def test_a_place_or_a_time_that_is_none_is_told(
    viewer: Client, cart: Cart, name: str, value: str, text: str
) -> None:
    response = viewer.get(CARTS, {name: value})
    assert text in response.text
    assert response.context["page"].carts == []


FILTERS = {
    "partner_key": "BIST",
    "platform": "kiosk",
    "ordering_channel": "WEB",
    "fulfilment_channel": "PICKUP",
    "currency": "GBP",
}


@pytest.mark.parametrize("name", FILTERS)
def test_filters(viewer: Client, cart: Cart, name: str) -> None:
    wanted = CartFactory(**{name: FILTERS[name]})
    wanted.add_item(**ItemFactory(currency=wanted.currency))
    chosen = {name: "gbp" if name == "currency" else FILTERS[name]}
    assert found(viewer, **chosen) == [wanted]
    for key in (str(wanted.profile_key), "4711 pizza"):
        assert found(viewer, **chosen, q=key) == [wanted]
    assert found(viewer, **chosen, q=str(cart.profile_key)) == []


def at(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M")


def test_filters_of_time(viewer: Client, cart: Cart) -> None:
    now = timezone.now()
    past, future = at(now - timedelta(hours=1)), at(now + timedelta(hours=1))
    for name in ("created", "changed"):
        assert found(viewer, **{f"{name}_from": past, f"{name}_to": future}) == [cart]
        assert found(viewer, **{f"{name}_from": future}) == []
        assert found(viewer, **{f"{name}_to": past}) == []


def test_times_are_those_of_the_viewers_zone(viewer: Client, cart: Cart) -> None:
    there = at(timezone.now() + timedelta(hours=11))  # Auckland is ahead by 12 or 13
    assert found(viewer, created_from=there) == []
    viewer.cookies["timezone"] = "Pacific/Auckland"
    assert found(viewer, created_from=there) == [cart]
    assert " NZ" in viewer.get(CARTS).text


@pytest.mark.parametrize("zone", ["", "Nowhere/Land", "../etc/passwd", "x" * 300, "Europe"])
def test_a_zone_that_is_none_shows_utc(viewer: Client, cart: Cart, zone: str) -> None:
    viewer.cookies["timezone"] = zone
    assert "UTC" in viewer.get(CARTS).text


def walk(client: Client, query: str, way: str) -> list[list[Any]]:
    pages = []
    while query:
        response = client.get(CARTS + query)
        pages.append(response.context["page"].carts)
        query = ways(response)[way]
    return pages


def ways(response: Any) -> dict[str, str]:
    """Return the addresses of the newer and the older page, or "" where there is none."""
    links = re.findall('<a href="([^"]+)"[^>]* rel="(prev|next)"', response.text)
    urls = {rel: unescape(url) for url, rel in links}
    return {"newer": urls.get("prev", ""), "older": urls.get("next", "")}


def check_walk(client: Client, query: str, wanted: list[Cart]) -> None:
    assert list(chain(*walk(client, query, "older"))) == wanted
    back = walk(client, f"{query}&after={uuid.UUID(int=0)}", "newer")
    assert list(chain(*back[::-1])) == wanted


@pytest.mark.parametrize(
    "query",
    ["?", "?q=4711", "?platform=ios-app", "?q=4711&platform=ios-app", "?q=4711+naan", "?q=4711+25"],
)
def test_pages_hold_every_cart_once(
    viewer: Client, query: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    naan = ItemFactory(display_name="Naan", price="12.50")
    kinds = {"platform": "web"}, {"platform": "ios-app", "items": [naan]}
    carts = [CartFactory(**kinds[n % 2]) for n in range(17)][::-1]
    monkeypatch.setattr(search, "PAGE_SIZE", 5)
    monkeypatch.setattr(search, "WINDOW", 4)
    check_walk(viewer, query, carts if query in {"?", "?q=4711"} else carts[1::2])


def test_a_page_leads_both_ways_whichever_way_it_was_come_to(
    viewer: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    carts = [CartFactory() for _ in range(5)]
    monkeypatch.setattr(search, "PAGE_SIZE", 1)
    there = {"newer": f"?q=4711&after={carts[2].pk}", "older": f"?q=4711&before={carts[2].pk}"}
    for way in (f"after={carts[1].pk}", f"before={carts[3].pk}"):
        response = viewer.get(f"{CARTS}?q=4711&{way}")
        assert response.context["page"].carts == [carts[2]]
        assert ways(response) == there


def test_pages_of_a_number_that_is_a_partner_key_as_well_hold_every_cart_once(
    viewer: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The two searches stop at different carts."""
    for number in range(24):
        restaurant_key = 4711 if number % 4 else 1
        partner_key = "4711" if number % 4 < 2 else "ACME"
        platform = "web" if number % 3 else "kiosk"
        CartFactory(restaurant_key=restaurant_key, partner_key=partner_key, platform=platform)
    wanted = list(Cart.objects.filter(platform="kiosk").order_by("-id"))
    monkeypatch.setattr(search, "PAGE_SIZE", 3)
    monkeypatch.setattr(search, "WINDOW", 4)
    check_walk(viewer, "?q=4711&platform=kiosk", wanted)


@pytest.mark.usefixtures("raised_limits")
def test_a_list_takes_5_queries_whatever_carts_hold_and_a_search_6(
    viewer: Client, django_assert_num_queries: Callable[[int], Any]
) -> None:
    for _ in range(98):
        CartFactory(items=[ItemFactory(with_option=True)])
    for _ in range(3):
        big_cart(50, 100)
    profile = Cart.objects.latest("id").profile_key
    # one more, to find out whether it is the id of a cart or an item
    with django_assert_num_queries(6):
        viewer.get(CARTS, {"q": str(profile)})
    # session, user, two for permissions, the carts with their totals
    with django_assert_num_queries(5):
        response = viewer.get(CARTS)
    assert response.text.count('class="number">22.70 EUR</td>') == 97
    assert response.text.count('class="number">13,510.00 EUR</td>') == 3
    assert response.text.count(', …<span class="words">50 items</span>') == 3
    assert response.text.count('<bdi dir="ltr">2 × Pizza Margherita</bdi>') == 97 + 3 * 3


def dishes(*names: str, **values: Any) -> Cart:
    return cast(
        "Cart", CartFactory(items=[ItemFactory(display_name=name) for name in names], **values)
    )


def shown(client: Client) -> list[str]:
    """Return the cell of each cart's items, as text."""
    cells = re.findall('<td data-label="Items">(.*?)</td>', client.get(CARTS).text)
    return [re.sub("<[^>]+>", "", cell) for cell in cells]


def test_the_list_shows_the_first_dishes(viewer: Client) -> None:
    cart = dishes("Garlic naan", "Saag paneer", "Raita", "Lassi")
    dishes("شاورما", "<b>Tea</b>")
    CartFactory()
    assert shown(viewer) == [
        "none",
        "2 × شاورما, 2 × &lt;b&gt;Tea&lt;/b&gt;",
        "2 × Garlic naan, 2 × Saag paneer, 2 × Raita, …4 items",
    ]
    cart.items.get(display_name="Saag paneer").remove()
    assert shown(viewer)[2] == "2 × Garlic naan, 2 × Raita, 2 × Lassi"


@pytest.mark.parametrize(
    ("item", "terms"),
    [
        ({"display_name": "Garlic naan"}, ["4711 naan", "naan 4711", "4711\xa0naan", "4711 c n"]),
        ({"display_name": "GARLIC NAAN"}, ["#4711 garlic  N", "“4711, Garlic naan.”"]),
        ({"display_name": "n%n G_rlic 5% 🍕 o'n"}, ["n%n", "G_rlic", "5%", "🍕", "o'n"]),
        ({"price": "23.5"}, ["4711 23.50", "4711 23,50", "4711 23.5", "23.50 4711"]),
        ({"price": "1234.5"}, ["4711 1,234.50", "4711 1234.50", "4711 1234,5"]),
        ({"price": "1200"}, ["4711 1200", "4711 1,200", "4711 1200.00"]),
    ],
)
def test_a_number_with_a_dish_or_an_amount_finds_the_carts_with_it(
    viewer: Client, item: dict[str, str], terms: list[str]
) -> None:
    held = ItemFactory(quantity=1, **item)
    wanted = CartFactory(items=[held])
    CartFactory(items=[held], restaurant_key=4712)
    # Of another subtotal, and with another dish.
    CartFactory(items=[held | {"display_name": "Nuon Garlic"}, ItemFactory()])
    for term in terms:
        assert found(viewer, q=term if "4711" in term else f"4711 {term}") == [wanted]


def test_a_dish_is_looked_for_no_further_than_the_window(
    viewer: Client, monkeypatch: pytest.MonkeyPatch, django_assert_num_queries: Callable[[int], Any]
) -> None:
    monkeypatch.setattr(search, "WINDOW", 4)
    old = dishes("Garlic naan")
    reached = [CartFactory() for _ in range(6)][1]
    # session, user, two for permissions, the last cart to look at, the carts, when it was created
    with django_assert_num_queries(7) as queries:
        response = viewer.get(CARTS, {"q": "4711 naan"})
    (items_read,) = (q["sql"] for q in queries.captured_queries if "cartitem" in q["sql"])
    assert reached.pk.hex in items_read.replace("-", "")
    text = " ".join(response.text.split())
    assert "None of the carts that were looked through matches." in text
    assert "Look further back" in text
    assert f"looked through 4 carts, as far as {reached.created_on:%-d %b %Y, %H:%M} UTC" in text
    assert walk(viewer, "?q=4711+naan", "older") == [[], [old]]


@pytest.mark.parametrize("term", ["", "naan", "4711 biryani", "ACME naan", "4711 1,23.4"])
def test_an_empty_or_wrong_search_says_what_can_be_searched(
    viewer: Client, cart: Cart, term: str
) -> None:
    response = viewer.get(CARTS, {"q": term})
    assert "a restaurant's number, alone or with a dish or an amount" in response.text
    assert ("A dish or an amount needs the restaurant's number" in response.text) == bool(term)
    assert bool(response.context["page"].carts) == (not term)


def test_the_page_gives_an_example_that_the_demonstration_has(viewer: Client) -> None:
    call_command("demo_carts", carts=100, stdout=StringIO())
    examples = re.findall("<q>(.+?)</q>", viewer.get(CARTS).text)
    assert [example.split()[0] for example in examples] == ["1002", "1002"]
    assert {cart.restaurant_key for cart in found(viewer, q=examples[0])} == {1002}
    readme = (settings.BASE_DIR / "carts/README.md").read_text("utf-8")
    assert all(f"`{example}`" in readme for example in examples)


@pytest.mark.parametrize("url", [CARTS, f"{CARTS}{STRANGER}/change/"])
def test_nobody_else_sees_carts(db: None, url: str) -> None:
    assert Client().get(url).url.startswith("/admin/login/")
    assert staff().get(url).status_code == 403


@pytest.mark.parametrize("page", ["change", "history"])
def test_an_unknown_cart_is_said_to_be_unknown(viewer: Client, page: str) -> None:
    key = uuid.uuid4()
    response = viewer.get(f"{CARTS}{key}/{page}/", follow=True)
    assert response.redirect_chain == [(f"{CARTS}?q={key}", 302)]
    assert f"There is no cart {key}. Perhaps it was deleted?" in response.text
    for key in ("Call-0900-now", "1", "{{ x }}"):
        response = viewer.get(f"{CARTS}{key}/{page}/", follow=True)
        assert "There is no such cart. Perhaps it was deleted?" in response.text
        assert key == "1" or key not in response.text
