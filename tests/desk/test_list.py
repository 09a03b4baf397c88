import math
import re
from collections.abc import Callable, Container
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from html import unescape
from io import BytesIO
from itertools import chain, count
from typing import Any, cast
from xml.etree.ElementTree import XML
from zipfile import ZipFile
from zoneinfo import ZoneInfo

import pytest
from django.db import OperationalError, connection
from django.test import Client
from django.utils import timezone

from carts.admin import search
from carts.models import Cart
from carts.models.cart_change import Author
from tests.desk.conftest import CARTS, big_cart, words
from tests.support.factories import CartFactory, ItemFactory
from tests.support.table_contents import unguarded_rows


def older(response: Any) -> str:
    """Return the address of the older page, or ""."""
    urls = re.findall('<a href="([^"]+)"[^>]* rel="next"', response.text)
    return unescape(urls[0]) if urls else ""


def walk(client: Client, query: str) -> list[list[Any]]:
    pages = []
    while query:
        response = client.get(CARTS + query)
        pages.append(response.context["result"].carts)
        query = older(response)
    return pages


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
    monkeypatch.setattr(search, "CARTS_PER_PAGE", 5)
    monkeypatch.setattr(search, "CARTS_AT_ONCE", 4)
    monkeypatch.setattr(search, "SEARCH_SECONDS", 0)
    wanted = carts if query in {"?", "?q=4711"} else carts[1::2]
    assert list(chain(*walk(viewer, query))) == wanted


@pytest.mark.usefixtures("raised_limits")
def test_a_list_takes_7_queries_whatever_carts_hold_and_a_search_16(
    viewer: Client, django_assert_num_queries: Callable[[int], Any]
) -> None:
    for _ in range(98):
        CartFactory(items=[ItemFactory(with_option=True)])
    for _ in range(3):
        big_cart(50, 100)
    profile = Cart.objects.latest("id").profile_key
    # session, user, two for permissions; whether it is the id of a cart or an item, of a deleted
    # cart or one that staff changed; three for the carts, items and customers that have it, three
    # for those that are deleted or moved; the ids, the carts, the channels to choose from
    with django_assert_num_queries(16):
        viewer.get(CARTS, {"q": str(profile)})
    # session, user, two for permissions, the ids, the carts with their totals, the channels
    with django_assert_num_queries(7):
        response = viewer.get(CARTS)
    assert response.text.count('class="number">22.70 EUR</td>') == 97
    assert response.text.count('class="number">13,510.00 EUR</td>') == 3
    assert response.text.count(", … 50 items</a>") == 3
    assert response.text.count("2&nbsp;×&nbsp;<bdi>Pizza Margherita</bdi>") == 97 + 3 * 3


def test_the_list_says_how_many_it_has_and_gives_them_as_a_file(
    viewer: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "CARTS_PER_PAGE", 2)
    monkeypatch.setattr(search, "MAX_FOUND", 4)
    carts = [dishes("=1+1", 'Côte, "x"', platform="+49") for _ in range(5)]
    CartFactory(partner_key="BIST")
    response = viewer.get(CARTS)
    assert ">At least 4 carts <" in response.text
    response = viewer.get(CARTS + older(response))
    assert "4 carts" not in response.text
    # The file begins with the newest cart, whichever page it is asked on.
    assert 'href="?xlsx=1">Download as a workbook</a>' in response.text
    for platform, said in (("+49", "At least 4 carts"), ("ios-app", "1 cart ")):
        assert f">{said}" in viewer.get(CARTS, {"platform": platform}).text
    heads, *rows = workbook(viewer, platform="+49")
    assert [*heads.values()][:8:7] == ["id", "currency"]
    assert [row["A"] for row in rows] == [str(cart.pk) for cart in carts[:0:-1]]


def test_a_workbook_says_how_many_of_how_many_carts_it_holds_and_of_which_search(
    viewer: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    viewer.cookies["timezone"] = "Asia/Tokyo"
    today = datetime.now(ZoneInfo("Asia/Tokyo"))
    searched = {"q": "naan", "platform": "=1+1"}
    for most, held in ((3, "1 of 1"), (1, "1 of at least 1")):
        monkeypatch.setattr(search, "MAX_FOUND", most)
        dishes("Naan", platform="=1+1")
        name = viewer.get(CARTS, {**searched, "xlsx": "1"}).headers["Content-Disposition"]
        assert name == f'attachment; filename="carts-{today:%Y-%m-%d}.xlsx"'
        facts = {row["A"]: row["B"] for row in workbook(viewer, number=2, **searched)}
        assert re.fullmatch(f"{today:%-d %b %Y}, [0-9:]{{5}} JST", facts.pop("As of"))
        assert facts == {"Carts": held, "Find a cart": "naan", "Platform": "=1+1"}


def workbook(client: Client, number: int = 1, **query: str) -> list[dict[str, Any]]:
    """Return the rows of a sheet: each cell, a text or a number, by its column."""
    response = client.get(CARTS, {**query, "xlsx": "1"})
    with ZipFile(BytesIO(response.content)) as file:
        texts = ["".join(text.itertext()) for text in XML(file.read("xl/sharedStrings.xml"))]
        sheet = XML(file.read(f"xl/worksheets/sheet{number}.xml"))
    space = {"": sheet.tag.partition("}")[0][1:]}
    assert sheet.find(".//f", space) is None  # a formula
    return [
        {
            cell.attrib["r"].rstrip("0123456789"): texts[int(cell[0].text or "")]
            if cell.get("t") == "s"
            else Decimal(cell[0].text or "")
            for cell in row
        }
        for row in sheet.findall(".//row", space)
    ]


def test_a_workbook_holds_texts_numbers_and_times(viewer: Client) -> None:
    harmful = ("=1+1", ";@SUM(1+1)*cmd|' /C calc'!A0", "＝1", "https://evil.example", "_x0041_")
    cart = dishes(*harmful[:3], platform=harmful[3], ordering_channel=harmful[4], restaurant_key=0)
    texts = {"note": "=2+2", "special_instructions": "Ring\ntwice"}
    ramen = ItemFactory(currency="JPY", price="1234")
    yen = CartFactory(currency="JPY", items=[ramen], **texts)
    yen.close(outcome="ordered", reference="payment-1", order_reference="2026-0815")
    for zone, hours in (("UTC", 0), ("Asia/Tokyo", 9)):
        viewer.cookies["timezone"] = zone
        heads, of_yen, row = workbook(viewer)
        for column, of_cart, moment, head in (
            ("C", row, cart.created_on, "created on"),
            ("D", row, cart.modified_on, "modified on"),
            ("O", of_yen, yen.closed_on, "closed on"),
        ):
            assert heads[column] == f"{head} ({zone})"
            then = (moment - datetime(1899, 12, 30, tzinfo=UTC)) / timedelta(days=1)
            assert float(of_cart[column]) == pytest.approx(then + hours / 24, abs=1e-6)
    assert of_yen["G"] == yen.subtotal
    assert [of_yen[column] for column in "NPQRS"] == [
        *("ordered", "payment-1", "2026-0815", *texts.values())
    ]
    del row["C"], row["D"]
    assert list(row.values()) == [
        *(str(cart.pk), str(cart.profile_key), 1, 3, cart.subtotal, "EUR", 0, "ACME"),
        *("DELIVERY", "_x005F_x0041_", harmful[3], "open"),
        "2 × =1+1, 2 × ;@SUM(1+1)*cmd|' /C calc'!A0, 2 × ＝1",
    ]


def dishes(*names: str, **values: Any) -> Cart:
    return cast(
        "Cart", CartFactory(items=[ItemFactory(display_name=name) for name in names], **values)
    )


def shown(client: Client, **query: str) -> list[str]:
    """Return the cell of each cart's items, as text."""
    cells = re.findall('<th scope="row".*?>(.*?)</th>', client.get(CARTS, query).text)
    return [re.sub("<[^>]+>", "", cell).replace("&nbsp;", " ") for cell in cells]


def test_the_list_shows_the_first_dishes(viewer: Client) -> None:
    cart = dishes("Garlic naan", "Saag paneer", "Raita", "Lassi")
    dishes("شاورما", "<b>Tea</b>")
    CartFactory()
    assert shown(viewer) == [
        "Empty cart",
        "2 × شاورما, 2 × &lt;b&gt;Tea&lt;/b&gt;",
        "2 × Garlic naan, 2 × Saag paneer, 2 × Raita, … 4 items",
    ]
    cart.items.get(display_name="Saag paneer").remove()
    assert shown(viewer)[2] == "2 × Garlic naan, 2 × Raita, 2 × Lassi"


def test_a_row_says_one_thing_a_column_and_the_last_change_where_changes_are_asked_for(
    viewer: Client,
) -> None:
    cart = dishes("Naan", currency="EUR")
    heads = ["Created", "Items", "Subtotal", "Status", "Restaurant", "Partner", "Channels", "Cart"]
    row = [
        *(f"{cart.created_on:%-d %b %Y, %H:%M} UTC", "2 × Naan", "20.20 EUR", "open", "4711"),
        *("ACME", "DELIVERY · MOBILE · ios-app", str(cart.pk)),
    ]
    assert table(viewer) == [heads, row]
    why = ("<b>Wrong</b> note, " * 8).strip()
    Cart.objects.by(Author("staff", "anna", why=why)).change_cart(cart.pk, {"note": "Ring"})
    unguarded_rows(Cart).update(modified_on=timezone.now() - timedelta(hours=2))
    assert table(viewer) == [heads, row]
    told = f"2 hours ago by Staff anna: “{why}”"
    assert table(viewer, changed_by="anna") == [
        [*heads[:-1], "Last change", heads[-1]],
        [*row[:-1], told, row[-1]],
    ]


def table(client: Client, **query: str) -> list[list[str]]:
    """Return the heads and the rows of the list: the text of each cell."""
    html = client.get(CARTS, query).text.partition('<table id="result_list">')[2]
    rows = html.partition("</table>")[0].split("<tr>")[1:]
    return [[words(cell) for cell in re.findall("<t[dh][ >].*?</t[dh]>", row)] for row in rows]


def test_a_dish_is_looked_for_no_further_than_the_window(
    viewer: Client, monkeypatch: pytest.MonkeyPatch, django_assert_num_queries: Callable[[int], Any]
) -> None:
    monkeypatch.setattr(search, "CARTS_AT_ONCE", 4)
    monkeypatch.setattr(search, "SEARCH_SECONDS", 0)
    old = dishes("Garlic naan")
    reached = [CartFactory() for _ in range(6)][1]
    # session, user, two for permissions; whether it is a reference; of each word, whether it is a
    # reference, a partner's key in either case, a name of staff, and of the number, whether it is a
    # restaurant; the last cart to look at, the ids, when it was created, the channels
    with django_assert_num_queries(17) as queries:
        response = viewer.get(CARTS, {"q": "4711 naan"})
    (items_read,) = (q["sql"] for q in queries.captured_queries if "cartitem" in q["sql"])
    assert reached.pk.hex in items_read.replace("-", "")
    text = " ".join(response.text.split())
    assert "None of the carts that were looked through matches. A restaurant's number" in text
    assert "Look further back" in text
    assert f"through carts as far back as {reached.created_on:%-d %b %Y, %H:%M} UTC" in text
    assert walk(viewer, "?q=4711+naan") == [[], [old]]
    # A rare value goes on by itself, for a while.
    monkeypatch.setattr(search, "SEARCH_SECONDS", math.inf)
    for term in ("4711 naan", "naan"):
        assert walk(viewer, f"?q={term}") == [[old]]


def test_a_search_that_has_a_page_says_that_there_may_be_more(
    viewer: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It stops once it has a page, so what it has is not all."""
    monkeypatch.setattr(search, "CARTS_PER_PAGE", 2)
    monkeypatch.setattr(search, "CARTS_AT_ONCE", 4)
    for _ in range(9):
        dishes("Naan")
    assert ">At least 5 carts <" in viewer.get(CARTS, {"q": "naan"}).text
    assert ">9 carts <" in viewer.get(CARTS).text
    monkeypatch.setattr(search, "CARTS_AT_ONCE", 9)
    assert ">9 carts <" in viewer.get(CARTS, {"q": "naan"}).text


@pytest.mark.parametrize(("slow", "pages"), [({1, 2}, [1]), ({2}, [0, 1])])
def test_a_look_that_takes_too_long_looks_at_fewer_or_ends(
    viewer: Client, monkeypatch: pytest.MonkeyPatch, slow: set[int], pages: list[int]
) -> None:
    monkeypatch.setattr(search, "CARTS_AT_ONCE", 16)
    monkeypatch.setattr(search, "SEARCH_SECONDS", math.inf)
    dishes("Naan")
    for _ in range(20):
        CartFactory()
    with connection.execute_wrapper(timeouts(slow)):
        assert [len(page) for page in walk(viewer, "?q=naan")] == pages


def test_a_search_is_an_outage_if_not_even_a_few_carts_can_be_looked_at(
    viewer: Client, cart: Cart
) -> None:
    viewer.raise_request_exception = False
    with connection.execute_wrapper(timeouts(range(99))):
        assert viewer.get(CARTS, {"q": "naan"}).status_code == 503


def timeouts(slow: Container[int]) -> Callable[..., Any]:
    """Return a wrapper that lets the looks of these numbers take too long."""
    looks = count(1)

    def execute(run: Callable[..., Any], sql: str, *rest: Any) -> Any:
        if "cartitemoption" in sql and next(looks) in slow:
            raise OperationalError("canceling statement due to statement timeout")
        return run(sql, *rest)

    return execute
