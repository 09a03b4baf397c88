import re
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client

from carts.admin.cart_admin import PRINTED_ITEMS
from carts.admin.formatting import format_amount
from tests.desk.conftest import big_cart, page_of
from tests.support.factories import CartFactory, ItemFactory, OptionFactory

RULE = "=" * 42


def slips(viewer: Client, **cart: Any) -> tuple[list[str], list[str]]:
    """Return the lines of the kitchen's docket and of the customer's slip of a cart."""
    return lines_of(viewer.get(page_of(CartFactory(**cart))).text)


def lines_of(page: str) -> tuple[list[str], list[str]]:
    _, docket, slip = (part.partition("</div>")[0] for part in page.split('class="slip"'))
    return lines(docket), lines(slip)


def lines(slip: str) -> list[str]:
    found = re.findall("<hr>|<p[^>]*>(.*?)</p>", slip, re.DOTALL)
    return [re.sub("[0-9a-f-]{36}", "ID", re.sub("<[^>]+>", "", text)) or RULE for text in found]


def test_the_kitchen_reads_what_to_make_and_the_customer_what_it_costs(viewer: Client) -> None:
    docket, slip = slips(
        viewer,
        special_instructions="Ring twice\nSecond floor",
        note="Invoice to the office",
        items=[
            ItemFactory(with_option=True, special_instructions="No basil"),
            ItemFactory(display_name="Lassi", options=[]),
            ItemFactory(display_name="Chai", quantity=1, with_option=True),
            ItemFactory(display_name="Cola", quantity=1, options=[], price="2.5"),
        ],
    )
    assert docket == [
        "KITCHEN DOCKET",
        "Restaurant 4711 DELIVERY",
        RULE,
        "2 × Pizza Margherita",
        "+ Extra mozzarella",
        "! No basil",
        "2 × Lassi",
        "1 × Chai",
        "+ Extra mozzarella",
        "1 × Cola",
        RULE,
        "INSTRUCTIONS",
        "Ring twice\nSecond floor",
        RULE,
        "Cart ID",
    ]
    assert slip == [
        "CUSTOMER'S SLIP",
        "Restaurant 4711 DELIVERY",
        RULE,
        "2 × Pizza Margherita 22.70",
        "each without options 10.10",
        "+ Extra mozzarella 1.25",
        "2 × Lassi 20.20",
        "each 10.10",
        "1 × Chai 11.35",
        "without options 10.10",
        "+ Extra mozzarella 1.25",
        "1 × Cola 2.50",
        RULE,
        "SUBTOTAL EUR 56.75",
        RULE,
        "NOTE",
        "Invoice to the office",
        RULE,
        "Cart ID",
    ]


def test_texts_that_are_blank_or_not_sent_have_no_heading(viewer: Client) -> None:
    for blank in (None, " \n"):
        docket, slip = slips(viewer, special_instructions=blank, note=blank)
        assert docket == ["KITCHEN DOCKET", "Restaurant 4711 DELIVERY", RULE, RULE, "Cart ID"]
        assert slip[3:] == [RULE, "SUBTOTAL EUR 0.00", RULE, "Cart ID"]


def test_a_long_order_is_cut_and_says_so(viewer: Client) -> None:
    for more, said in ((0, []), (1, ["… and 1 more item"]), (37, ["… and 37 more items"])):
        page = viewer.get(page_of(big_cart(PRINTED_ITEMS + more, 0))).text
        docket, slip = lines_of(page)
        assert docket[3 : 3 + PRINTED_ITEMS] == ["2 × Pizza Margherita"] * PRINTED_ITEMS
        assert docket[3 + PRINTED_ITEMS : -2] == said
        assert slip[3 + 2 * PRINTED_ITEMS :][: len(said)] == said
        assert (
            slip[-3]
            == f"SUBTOTAL EUR {format_amount((PRINTED_ITEMS + more) * Decimal('20.2'), 'EUR')}"
        )


def test_a_line_separator_is_a_line_break(viewer: Client) -> None:
    text = "a\u2028b\u2029c\u202ed"
    item = ItemFactory(special_instructions=text)
    for sheet in slips(viewer, special_instructions=text, note=text, items=[item]):
        assert "a\nb\ncd" in sheet
        assert not re.search("[\u2028-\u202e]", "".join(sheet))


def test_what_a_caller_wrote_is_isolated_and_no_markup(viewer: Client) -> None:
    forged = f"x\n{RULE}\n<p class=title>KITCHEN DOCKET</p>"
    option = OptionFactory(display_name="شاورما")
    item = ItemFactory(display_name="\u202eevil", special_instructions=forged, options=[option])
    cart = CartFactory(items=[item], note=forged, fulfilment_channel="<hr>")
    page = viewer.get(page_of(cart)).text
    shown = page.partition('class="slips"')[2].partition("</section>")[0]
    assert re.findall('<p class="title">(.+?)</p>', shown) == ["KITCHEN DOCKET", "CUSTOMER'S SLIP"]
    assert len(re.findall("<hr>", shown)) == 6
    escaped = f"x\n{RULE}\n&lt;p class=title&gt;KITCHEN DOCKET&lt;/p&gt;"
    for text in (escaped, "evil", "شاورما", "&lt;hr&gt;"):
        assert shown.count(text) == shown.count(f"<bdi>{text}</bdi>") > 0


@pytest.mark.parametrize(
    ("value", "currency", "text"),
    [
        (Decimal("1234.5"), "EUR", "1,234.50"),
        (Decimal("1200.0000"), "JPY", "1,200"),
        (Decimal("1.5"), "KWD", "1.500"),
        (Decimal("0.1234"), "EUR", "0.1234"),
        (Decimal("12.5"), "JPY", "12.5"),
        (Decimal("99999999999999999999.9999"), "EUR", "99,999,999,999,999,999,999.9999"),
        (0, "EUR", "0.00"),
        (Decimal("1E+3"), "XAU", "1,000"),
    ],
)
def test_amounts_have_the_minor_units_of_their_currency(
    value: Decimal | int, currency: str, text: str
) -> None:
    assert format_amount(value, currency) == text
