from decimal import Decimal
from typing import Any

import pytest
import wcwidth
from hypothesis import example, given
from hypothesis import strategies as st

from carts.admin.slips import ISOLATE, LONGEST, amount, customer_slip, kitchen_docket
from tests.support.costs import calls
from tests.support.factories import CartFactory, ItemFactory, OptionFactory

cart = CartFactory.build


def option(name: str) -> dict[str, Any]:
    return OptionFactory(display_name=name)


def item(name: str = "Pizza Margherita", **changes: Any) -> dict[str, Any]:
    values = {"value": Decimal("22.70"), "special_instructions": None}
    return ItemFactory(display_name=name, with_option=True, **values | changes)


def test_the_kitchen_reads_what_to_make_and_no_prices() -> None:
    docket = kitchen_docket(
        cart(special_instructions="Ring twice\nSecond floor", note="Invoice to the office"),
        [item(special_instructions="No basil"), item("Cola", quantity=1, options=[])],
    )
    assert docket.splitlines() == [
        "              KITCHEN DOCKET",
        "Restaurant 4711                   DELIVERY",
        "==========================================",
        "2 × Pizza Margherita",
        "    + Extra mozzarella",
        "    ! No basil",
        "1 × Cola",
        "------------------------------------------",
        "INSTRUCTIONS",
        "    Ring twice",
        "    Second floor",
        "==========================================",
    ]


def test_the_customer_reads_prices_totals_and_the_note() -> None:
    slip = customer_slip(
        cart(special_instructions="Ring twice", note="Invoice to the office"),
        [
            item(special_instructions="No basil"),
            item("Lassi", options=[], value=Decimal("20.20")),
            item("Cola", quantity=1, options=[], value=Decimal("2.50")),
        ],
    )
    assert slip.splitlines() == [
        "             CUSTOMER'S SLIP",
        "Restaurant 4711                   DELIVERY",
        "==========================================",
        "2 × Pizza Margherita                 22.70",
        "    each                 10.10",
        "    + Extra mozzarella    1.25",
        "2 × Lassi                            20.20",
        "    each                 10.10",
        "1 × Cola                              2.50",
        "------------------------------------------",
        "SUBTOTAL EUR                         45.40",
        "------------------------------------------",
        "NOTE",
        "    Invoice to the office",
        "==========================================",
    ]


@pytest.mark.parametrize("space", [" ", "\t", "\u3000"])
def test_a_customer_writes_no_second_sheet(space: str) -> None:
    forged = f"x\n{'=' * 42}\n{space * 14}KITCHEN DOCKET\n{'-' * 42}\n{'=' * 38}"
    order = cart(special_instructions=forged, note=forged, fulfilment_channel="=" * 42)
    for sheet in (kitchen_docket, customer_slip):
        lines = sheet(order, [item("=" * 100, special_instructions=forged)]).splitlines()
        own = [line for line in lines if not line.startswith("    ") and set(line) <= set("=-")]
        assert own == ["=" * 42, *["-" * 42] * (1 + (sheet is customer_slip)), "=" * 42]
        # What stands below its beginning is indented by four or six columns, a title by more.
        titles = [line for line in lines if line.startswith(" " * 7)]
        assert [title.strip() for title in titles] in (["KITCHEN DOCKET"], ["CUSTOMER'S SLIP"])


def test_wide_characters_take_two_columns() -> None:
    slip = customer_slip(cart(currency="JPY"), [item("味噌ラーメン", value=Decimal(1200))])
    line = slip.splitlines()[3]
    assert line == "2 × 味噌ラーメン" + " " * 21 + "1,200"
    assert wcwidth.width(line) == 42


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("شاورما", ["2 × \u2068شاورما\u2069"]),
        ("\u202e\u2069evil\u2066", ["2 × evil"]),
        ("W" * 100, ["2 × " + "W" * 38, "    " + "W" * 38, "    " + "W" * 24]),
        # A word is cut only if it is longer than a line.
        (
            f"two {'W' * 38} {'V' * 39}",
            ["2 × two", "    " + "W" * 38, "    " + "V" * 38, "    V"],
        ),
    ],
    ids=["from right to left", "marks of direction", "long word", "long words"],
)
def test_a_name_stays_in_its_place(name: str, lines: list[str]) -> None:
    docket = kitchen_docket(cart(), [item(name, options=[option("two words " * 7)])])
    assert docket.splitlines()[3:-1] == [
        *lines,
        "    + two words two words two words two",
        "      words two words two words two words",
    ]


def test_what_belongs_to_one_letter_is_not_cut_apart() -> None:
    family, letter = "👨‍👩‍👧", "é̂"
    docket = kitchen_docket(cart(), [item(family * 25), item(letter * 33, options=[])])
    sheet = "".join(line.strip() for line in docket.splitlines())
    assert (sheet.count(family), sheet.count(letter)) == (25, 33)


@pytest.mark.parametrize("text", ["🍕", "W", "W ", "شاورما "], ids=range(4))
def test_twice_the_text_costs_twice_as_much(text: str) -> None:
    def cost(times: int) -> int:
        return calls(lambda: kitchen_docket(cart(), [item(text * times, options=[])]))[0]

    cost(1)
    assert cost(400) < 2.2 * cost(200)


def test_a_long_order_is_cut_and_says_so() -> None:
    order = cart(special_instructions="Ring twice", note="Invoice to the office")
    for sheet in (kitchen_docket, customer_slip):
        whole = sheet(order, [item(options=[], quantity=1)] * LONGEST).splitlines()
        assert not any("more line" in line for line in whole)
        cut = sheet(order, [item(options=[], quantity=1)] * (LONGEST + 1237)).splitlines()
        mark = cut.index("… and 1,237 more lines")
        assert cut[:mark] == whole[:mark]
        assert mark == LONGEST + 3
        tail = cut[mark + 1 :]
        assert tail[-2] in {"    Ring twice", "    Invoice to the office"}
        assert "SUBTOTAL EUR" in tail[1] or sheet is kitchen_docket
    one = kitchen_docket(order, [item(options=[])] * (LONGEST + 1))
    assert "… and 1 more line\n" in one


texts = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), min_size=1, max_size=100
)


@given(texts, texts, texts)
@example("0", "0", "\u1067")  # a combining mark without a letter
@example("0", "0" * 14 + "\U00011720", "0")  # a mark that takes a column after a character
def test_no_line_is_wider_than_the_sheet(name: str, choice: str, channel: str) -> None:
    order = cart(note=name * 3, special_instructions=choice * 3, fulfilment_channel=channel[:50])
    value = Decimal("99999999999999.9999")
    lines = [item(name, special_instructions=choice, options=[option(choice)], value=value)]
    for sheet in (kitchen_docket(order, lines), customer_slip(order, lines)):
        for line in sheet.split("\n"):
            assert wcwidth.width(line) <= 42, line
            assert line.count(ISOLATE) == line.count("\u2069")


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
    assert amount(value, currency) == text
