import csv
import math
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
from uuid_utils.compat import uuid7

from carts.admin import search
from carts.models import Cart
from carts.models.change import Author
from tests.desk.conftest import CARTS, big_cart, item_of, items, page_of, staff
from tests.support import bodies
from tests.support.callers import STRANGER, Api
from tests.support.factories import CartFactory, ItemFactory, new_item
from tests.support.stored import unguarded


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
    [
        *(" 4711 ", "#4711", "4711.", "“4711”,", "'4711\t", "Restaurant 4711", "RESTAURANT: #4711"),
        *("ACME", "acme", "ACME.", "“acme”"),
    ],
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
    unguarded(Cart).exclude(pk=cart.pk).delete()
    assert viewer.get(CARTS, {"q": f"{item_id}"[:35]}).url == item_of(cart)


def test_an_id_is_found_with_any_separators_and_misread_digits(viewer: Client) -> None:
    cart = CartFactory(id=uuid.UUID("01900110-0000-7000-8000-00000000000a"))
    whole = str(cart.pk)
    for separator in (" ", ".", "/", ":", "_", "\n", " - "):
        assert viewer.get(CARTS, {"q": whole.replace("-", separator)}).url == page_of(cart)
    for zero, one in ("OI", "Ol"):
        term = whole.replace("0", zero).replace("1", one)
        assert viewer.get(CARTS, {"q": term}).url == page_of(cart)
        assert viewer.get(CARTS, {"q": term[:8]}).url == page_of(cart)


def test_one_wrong_digit_lists_what_begins_alike(viewer: Client, others: list[Cart]) -> None:
    carts = [CartFactory(id=uuid.UUID(f"01900110-0000-7000-8000-00000000000{n}")) for n in "12"]
    for term in ("01900110-0000-7000-8000-00000000000a", "01900110-1000-7000-8000-000000000001"):
        response = viewer.get(CARTS, {"q": term})
        assert response.context["page"].carts == carts[::-1]
        assert re.search("an id that begins with <strong><bdi>01900110(0000)?<", response.text)
    for term in (str(uuid.UUID(int=5)), "99999999999"):
        unknown = viewer.get(CARTS, {"q": term}).text
        assert "No cart, item or customer has an id that begins like this" in unknown
        assert "Ids are found by their beginning: perhaps one of the first digits is" in unknown


def test_a_part_of_an_id_that_finds_nothing_says_how_ids_are_found(
    viewer: Client, cart: Cart
) -> None:
    end = viewer.get(CARTS, {"q": "fedcba98"}).text
    assert "Ids are found by their beginning" in end
    short = viewer.get(CARTS, {"q": "fedc98"}).text
    assert "An id needs at least its first eight digits." in short


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
        *("-5", "[", "(?", "a{9}", "\\", "***=", "¤", "€ € € €", "2 x"),
    ],
)
def test_what_is_no_key_finds_nothing(viewer: Client, cart: Cart, term: str) -> None:
    response = viewer.get(CARTS, {"q": term.replace("ID", str(cart.pk))})
    assert response.context["page"].carts == []
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


def test_filters_that_hide_what_is_searched_can_be_left_out(viewer: Client, cart: Cart) -> None:
    response = viewer.get(CARTS, {"q": "a/c&d?", "platform": "none"})
    assert "Carts may have been deleted since." in response.text
    assert '<a href="?q=a%2Fc%26d%3F">search without the filters</a>' in response.text
    response = viewer.get(CARTS, {"platform": "none"})
    assert "must be whole" not in response.text
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


def test_a_time_is_typed_with_four_digits_of_a_year_or_chosen_by_a_click(
    viewer: Client, cart: Cart
) -> None:
    text = viewer.get(CARTS, {"q": "4711", "currency": "EUR"}).text
    assert text.count('max="9999-12-31T23:59"') == 4
    links = dict(re.findall(r'<a href="([^"]+)">(last hour|today|yesterday)</a>', text))
    wanted = {"last hour": [cart], "today": [cart], "yesterday": []}
    for url, name in links.items():
        assert "q=4711&amp;currency=EUR&amp;created_from=" in url
        assert list(viewer.get(CARTS + unescape(url)).context["page"].carts) == wanted.pop(name)
    assert wanted == {}


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
    for spell in (str.upper, str.lower):
        chosen = {name: spell(FILTERS[name])}
        assert found(viewer, **chosen) == [wanted]
        for key in (str(wanted.profile_key), "4711 pizza"):
            assert found(viewer, **chosen, q=key) == [wanted]
        assert found(viewer, **chosen, q=str(cart.profile_key)) == []


def at(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M")


def test_filters_of_time(viewer: Client, cart: Cart) -> None:
    cart.change(note="Ring")
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
    ["?", "?q=4711", "?platform=ios-app", "?q=4711&platform=ios-app", "?q=4711+naan", "?q=n"],
)
def test_pages_hold_every_cart_once(
    viewer: Client, query: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    naan = ItemFactory(display_name="Naan", price="12.50")
    kinds = {"platform": "web"}, {"platform": "ios-app", "items": [naan]}
    carts = [CartFactory(**kinds[n % 2]) for n in range(17)][::-1]
    monkeypatch.setattr(search, "PAGE_SIZE", 5)
    monkeypatch.setattr(search, "WINDOW", 4)
    monkeypatch.setattr(search, "SECONDS", 0)
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
    monkeypatch.setattr(search, "SECONDS", 0)
    check_walk(viewer, "?q=4711&platform=kiosk", wanted)


@pytest.mark.usefixtures("raised_limits")
def test_a_list_takes_6_queries_whatever_carts_hold_and_a_search_9(
    viewer: Client, django_assert_num_queries: Callable[[int], Any]
) -> None:
    for _ in range(98):
        CartFactory(items=[ItemFactory(with_option=True)])
    for _ in range(3):
        big_cart(50, 100)
    profile = Cart.objects.latest("id").profile_key
    # three more, to find out whether it is the id of a cart or an item, or a reference, and which
    # carts of the customer were deleted
    with django_assert_num_queries(9):
        viewer.get(CARTS, {"q": str(profile)})
    # session, user, two for permissions, the ids, the carts with their totals
    with django_assert_num_queries(6):
        response = viewer.get(CARTS)
    assert response.text.count('class="number">22.70 EUR</td>') == 97
    assert response.text.count('class="number">13,510.00 EUR</td>') == 3
    assert response.text.count(', …<span class="words">50 items</span>') == 3
    assert response.text.count("2&nbsp;×&nbsp;<bdi>Pizza Margherita</bdi>") == 97 + 3 * 3


def test_the_list_says_how_many_it_has_and_gives_them_as_a_file(
    viewer: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "PAGE_SIZE", 2)
    monkeypatch.setattr(search, "MOST", 4)
    carts = [dishes("=1+1", 'Côte, "x"', platform="+49") for _ in range(5)]
    CartFactory(partner_key="BIST")
    response = viewer.get(CARTS)
    assert ">More than 4 carts <" in response.text
    response = viewer.get(CARTS + ways(response)["older"])
    assert "4 carts" not in response.text
    # The file begins with the newest cart, whichever page it is asked on.
    for way in ("older", "newer"):
        assert 'href="?csv=1">Download as CSV</a>' in response.text
        response = viewer.get(CARTS + ways(response)[way])
    for platform, count in (("+49", "More than 4 carts"), ("ios-app", "1 cart ")):
        assert f">{count}" in viewer.get(CARTS, {"platform": platform}).text
    file = viewer.get(CARTS, {"platform": "+49", "csv": "1"})
    assert file.headers["Content-Type"] == "text/csv; charset=utf-8"
    heads, *rows = csv.reader(file.content.decode("utf-8-sig").splitlines())
    assert heads[::6] == ["id", "subtotal", "platform"]
    assert [row[0] for row in rows] == [str(cart.pk) for cart in carts[:0:-1]]
    assert rows[0][5:] == [
        *("2", "40.40", "EUR", "4711", "ACME", "DELIVERY", "MOBILE", "'+49", "open", ""),
        '2 × =1+1, 2 × Côte, "x"',
    ]


def test_zero_is_no_empty_cell_of_a_file(viewer: Client) -> None:
    CartFactory(restaurant_key=0)
    text = viewer.get(CARTS, {"csv": "1"}).content.decode("utf-8-sig")
    [row] = csv.DictReader(text.splitlines())
    assert [row[name] for name in ("item count", "restaurant key")] == ["0", "0"]


def dishes(*names: str, **values: Any) -> Cart:
    return cast(
        "Cart", CartFactory(items=[ItemFactory(display_name=name) for name in names], **values)
    )


def shown(client: Client, **query: str) -> list[str]:
    """Return the cell of each cart's items, as text."""
    cells = re.findall('<td data-label="Items">(.*?)</td>', client.get(CARTS, query).text)
    return [re.sub("<[^>]+>", "", cell).replace("&nbsp;", " ") for cell in cells]


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


def test_the_dish_that_was_searched_is_among_the_first(viewer: Client) -> None:
    dishes("Raita", "Lassi", "Chai", "Garlic naan")
    (cell,) = shown(viewer, q="naan garlic")
    assert cell == "2 × Garlic naan, 2 × Raita, 2 × Lassi, …4 items"


@pytest.mark.parametrize(
    ("item", "terms", "understood"),
    [
        ({"display_name": "Garlic naan"}, ["naan", "naan garlic", "2 × naan", "2x “naan”"], ""),
        ({"display_name": "GARLIC NAAN"}, ["#4711 garlic  N", "“4711, Garlic naan.”"], ""),
        ({"display_name": "n%n G_rlic 5% 🍕 o'n"}, ["n%n", "G_rlic", "5%", "🍕", "o'n"], ""),
        ({"display_name": "Crème Brûlée"}, ["creme", "CRÈME brulee", "cre\u0300me"], "dish creme"),
        ({"display_name": "Cre\u0300me Йогурт"}, ["crème", "crême", "иогурт"], ""),
        ({"display_name": "Cola 0.33", "price": "5"}, ["cola 0.33", "Cola €5", "0.33 cola"], ""),
        ({"price": "23.5"}, ["23.50", "23,50", "23.5", "€23.50", "23.50 eur", "EUR 23.5"], ""),
        ({"price": "23.5"}, ["4711 €23.50", "4711 EUR 23.5", "pizza 23.50"], "subtotal 23.50"),
        ({"price": "1234.5"}, ["1,234.50", "1234.50", "1234,5"], "subtotal 1234.5"),
        ({"price": "1200"}, ["4711 1200", "4711 1,200", "1200.00", "$ 1200", "1200 EUR"], ""),
        ({"display_name": "Burger 11"}, ["burger 11", "4711 burger 11"], "dish burger, dish 11"),
        ({"price": "3150"}, ["¥3150", "3150 JPY"], "subtotal 3150"),
        ({"price": "6750"}, ["6,750", "4711 6,750", "6,750 KWD"], "subtotal 6750 or 6.750"),
        ({"price": "6.75"}, ["6,750", "4711 6,750", "6,750 KWD"], "subtotal 6750 or 6.750"),
        ({"price": "27.4"}, ["27.40 pizza EUR", "EUR pizza 27.40"], "dish pizza, subtotal 27.40"),
        ({"display_name": "Cup of tea"}, ["cup of tea"], "dish cup, dish of, dish tea"),
        ({"price": "9.5"}, ["SUBTOTAL EUR 9.50", "Subtotal 9.50"], "subtotal 9.50"),
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
        assert response.context["page"].carts == carts, term
        (said,) = re.findall("Understood as: (.*)</p>", response.text)
    assert re.sub("<[^>]+>", "", said).endswith(understood)


def test_a_dish_is_looked_for_no_further_than_the_window(
    viewer: Client, monkeypatch: pytest.MonkeyPatch, django_assert_num_queries: Callable[[int], Any]
) -> None:
    monkeypatch.setattr(search, "WINDOW", 4)
    monkeypatch.setattr(search, "SECONDS", 0)
    old = dishes("Garlic naan")
    reached = [CartFactory() for _ in range(6)][1]
    monkeypatch.setattr(search, "SECONDS", 0)
    # session, user, two for permissions, whether a cart has the reference and the restaurant has
    # carts, the last cart to look at, the ids, when it was created, the carts
    with django_assert_num_queries(9) as queries:
        response = viewer.get(CARTS, {"q": "4711 naan"})
    (items_read,) = (q["sql"] for q in queries.captured_queries if "cartitem" in q["sql"])
    assert reached.pk.hex in items_read.replace("-", "")
    text = " ".join(response.text.split())
    assert "None of the carts that were looked through matches. A restaurant's number" in text
    assert "Look further back" in text
    assert f"looked through 4 carts, as far as {reached.created_on:%-d %b %Y, %H:%M} UTC" in text
    assert walk(viewer, "?q=4711+naan", "older") == [[], [old]]
    # A rare value goes on by itself, for a while.
    monkeypatch.setattr(search, "SECONDS", math.inf)
    for term in ("4711 naan", "naan"):
        assert walk(viewer, f"?q={term}", "older") == [[old]]


@pytest.mark.parametrize("term", ["", "naan", "4711 biryani", "ACME naan", "4711 1,23.4"])
def test_an_empty_or_wrong_search_says_what_can_be_searched(
    viewer: Client, cart: Cart, term: str
) -> None:
    response = viewer.get(CARTS, {"q": term})
    assert "a restaurant's number, a dish and an amount, alone or together" in response.text
    assert ("No cart matches." in response.text) == bool(term)
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
    assert response.redirect_chain[-1] == (f"{CARTS}?q={key}", 302)
    assert f"There is no cart {key}. Perhaps it was deleted?" in response.text
    for key in ("Call-0900-now", "1", "{{ x }}"):
        response = viewer.get(f"{CARTS}{key}/{page}/", follow=True)
        assert "There is no such cart. Perhaps it was deleted?" in response.text
        assert key == "1" or key not in response.text


@pytest.mark.parametrize(
    "when", [{"changed_from": "2020-01-01T00:00"}, {"changed_to": "2999-01-01T00:00"}]
)
def test_a_cart_that_was_never_changed_is_not_among_the_changed(
    viewer: Client, when: dict[str, str]
) -> None:
    _, changed = CartFactory(), CartFactory()
    changed.change(note="Ring")
    assert [cart.pk for cart in viewer.get(CARTS, when).context["page"].carts] == [changed.pk]
