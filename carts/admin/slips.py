"""What will print: the kitchen's docket and the customer's slip, as plain text.

The specification separates the two audiences: instructions print in the restaurant's
kitchen, the note and the prices on the customer's invoice.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import wcwidth
from iso4217 import Currency

if TYPE_CHECKING:
    from carts.models import Cart

WIDTH = 42  # columns of a receipt printer's common font
INDENT = 4

Items = Iterable[Mapping[str, Any]]

# Marks that would turn the direction of what stands beside them on the sheet.
DIRECTION_MARKS = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
ISOLATE, END_OF_ISOLATE = "\u2068", "\u2069"


def kitchen_docket(cart: "Cart", items: Items) -> str:
    """Return what the kitchen reads: items, options, instructions, and no prices."""
    lines = [*_head(cart, "KITCHEN DOCKET")]
    for item in items:
        lines += _hanging(f"{item['quantity']} × ", item["display_name"])
        for option in item["options"]:
            lines += _hanging(" " * INDENT + "+ ", option["display_name"])
        lines += _hanging(" " * INDENT + "! ", item["special_instructions"])
    return _sheet(lines, "INSTRUCTIONS", cart.special_instructions)


def customer_slip(cart: "Cart", items: Items) -> str:
    """Return what the customer reads: prices, totals and the order's note."""
    lines = [*_head(cart, "CUSTOMER'S SLIP")]
    subtotal = Decimal(0)
    for item in items:
        subtotal += item["value"]
        lines += _priced(f"{item['quantity']} × ", item["display_name"], item["value"], cart)
        if item["quantity"] > 1 or item["options"]:
            lines += _priced(" " * INDENT, "each", item["price"], cart, inset=12)
        for option in item["options"]:
            name = option["display_name"]
            lines += _priced(" " * INDENT + "+ ", name, option["price"], cart, inset=12)
    lines += ["-" * WIDTH, *_priced("", f"SUBTOTAL {cart.currency}", subtotal, cart)]
    return _sheet(lines, "NOTE", cart.note)


def amount(value: Decimal | int, currency: str) -> str:
    """Return the exact amount with the minor units of its currency: 1,234.50 or 1,200."""
    number = Decimal(value)
    decimals = max(Currency(currency).exponent or 0, -_exponent(number.normalize()))
    return f"{number:,.{decimals}f}"


def _exponent(number: Decimal) -> int:
    exponent = number.as_tuple().exponent
    return exponent if isinstance(exponent, int) else 0


def _head(cart: "Cart", title: str) -> Iterator[str]:
    yield title.center(WIDTH).rstrip()
    yield from _pair(f"Restaurant {cart.restaurant_key}", cart.fulfilment_channel)
    yield "=" * WIDTH


def _sheet(lines: list[str], title: str, paragraph: str | None) -> str:
    if paragraph and not paragraph.isspace():
        lines += ["-" * WIDTH, title, *_hanging("", paragraph)]
    return "\n".join([*lines, "=" * WIDTH])


def _hanging(lead: str, text: str | None, width: int = WIDTH) -> Iterator[str]:
    """Yield the text in lines of `width` columns, the first led by `lead`, the rest below."""
    for line in _clean(text).splitlines():
        # A word of one wide character still needs its two columns.
        for piece in wcwidth.wrap(line, max(2, width - wcwidth.width(lead))):
            yield lead + _isolated(piece)
            lead = " " * wcwidth.width(lead)


def _priced(lead: str, text: str, value: Decimal, cart: "Cart", *, inset: int = 0) -> Iterator[str]:
    """Yield the text, with the amount in the column that ends `inset` before the edge."""
    price = amount(value, cart.currency)
    edge = max(WIDTH - inset, len(price) + len(lead) + 10)
    lines = list(_hanging(lead, text, edge - len(price) - 1))
    yield from lines[:-1]
    last = lines[-1] if lines else lead
    yield last + " " * (edge - len(price) - wcwidth.width(last)) + price


def _pair(left: str, right: str) -> Iterator[str]:
    right = _clean(right)
    # After a space, because there a mark that has no letter takes a column.
    gap = WIDTH - wcwidth.width(left) - wcwidth.width(" " + right) + 1
    if gap < 1:
        yield left
        yield from _hanging("", right)
    else:
        yield left + " " * gap + _isolated(right)


def _clean(text: str | None) -> str:
    return DIRECTION_MARKS.sub("", text or "").replace("\t", " ")


def _isolated(text: str) -> str:
    if any(unicodedata.bidirectional(character) in {"R", "AL", "AN"} for character in text):
        return f"{ISOLATE}{text}{END_OF_ISOLATE}"
    return text
