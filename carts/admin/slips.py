"""The kitchen's docket and the customer's slip as they will print, in plain text.

The specification separates the two audiences. Special instructions print in the restaurant's
kitchen. The note and the prices print on the customer's invoice.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import chain
from typing import Any

import wcwidth
from iso4217 import Currency

from carts.models import Cart

WIDTH = 42  # columns of a receipt printer's common font
INDENT = " " * 4
# The most items, options and instructions on a sheet. The largest cart has thousands.
LONGEST = 300

# Of today's currencies. A cart may be in one that ISO 4217 has withdrawn since.
DECIMALS = {currency.code: currency.exponent or 0 for currency in Currency}

Items = Sequence[Mapping[str, Any]]

# Marks that would change the direction of the text around them.
DIRECTION_MARKS = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
ISOLATE, END_OF_ISOLATE = "\u2068", "\u2069"


def kitchen_docket(cart: Cart, items: Items) -> str:
    """Return the kitchen's sheet: items, options and instructions, without prices."""
    order: list[Iterator[str]] = []
    for item in items:
        order.append(_hanging(f"{item['quantity']} × ", item["display_name"]))
        order += [_hanging(f"{INDENT}+ ", option["display_name"]) for option in item["options"]]
        if item["special_instructions"]:
            order.append(_hanging(f"{INDENT}! ", item["special_instructions"]))
    return _sheet(cart, "KITCHEN DOCKET", order, "INSTRUCTIONS", cart.special_instructions)


def customer_slip(cart: Cart, items: Items) -> str:
    """Return the customer's sheet: items, options, prices, the subtotal and the note."""
    order: list[Iterator[str]] = []
    for item in items:
        name = item["display_name"]
        order.append(_priced(f"{item['quantity']} × ", name, item["value"], cart))
        if item["quantity"] > 1 or item["options"]:
            order.append(_priced(INDENT, "each", item["price"], cart, inset=12))
        for option in item["options"]:
            name, price = option["display_name"], option["price"]
            order.append(_priced(f"{INDENT}+ ", name, price, cart, inset=12))
    subtotal = sum((item["value"] for item in items), Decimal(0))
    total = "-" * WIDTH, *_priced("", f"SUBTOTAL {cart.currency}", subtotal, cart)
    return _sheet(cart, "CUSTOMER'S SLIP", order, "NOTE", cart.note, total)


def amount(value: Decimal | int, currency: str) -> str:
    """Return the exact amount with its currency's decimals, such as 1,234.50 or 1,200.

    An amount with more decimals than the currency keeps them all. Zero has no sign.
    """
    number = Decimal(value)
    decimals = max(DECIMALS.get(currency, 2), -int(number.normalize().as_tuple().exponent))
    return f"{number:z,.{decimals}f}"


def _sheet(
    cart: Cart,
    title: str,
    order: list[Iterator[str]],
    heading: str,
    paragraph: str | None,
    total: Iterable[str] = (),
) -> str:
    """Return the sheet. Entries of the order beyond `LONGEST` are counted and never laid out."""
    place = _pair(f"Restaurant {cart.restaurant_key}", cart.fulfilment_channel)
    lines = [title.center(WIDTH).rstrip(), *place, "=" * WIDTH]
    lines += chain.from_iterable(order[:LONGEST])
    if more := len(order[LONGEST:]):
        lines.append(f"… and {more:,} more line{'s' if more > 1 else ''}")
    lines += total
    if paragraph and not paragraph.isspace():
        lines += ["-" * WIDTH, heading, *_hanging(INDENT, paragraph)]
    return "\n".join([*lines, "=" * WIDTH])


def _hanging(lead: str, text: str, width: int = WIDTH) -> Iterator[str]:
    """Yield the text in lines of `width` columns.

    The first line begins with `lead`. The others are indented by its width, and by no space of
    the text's own: no caller writes a line that looks like a title or a rule of the sheet.
    """
    for line in _clean(text).splitlines():
        # A wide character needs two columns, even if `lead` leaves only one.
        for piece in _wrapped(line, max(2, width - wcwidth.width(lead))):
            yield lead + _isolated(piece)
            lead = " " * wcwidth.width(lead)


def _wrapped(line: str, width: int) -> Iterator[str]:
    """Yield the line in pieces of `width` columns, cut between words where possible.

    This is one pass over the characters. `wcwidth.wrap` would measure the rest of the line
    again for each piece.
    """
    piece: list[tuple[str, int]] = []
    used = words = 0  # the piece's columns, and its length up to the last space
    # Some marks are a cluster of their own and take a column after a character, but none if
    # measured alone. So each cluster is measured after a space.
    for cluster in wcwidth.iter_graphemes(line):
        columns = wcwidth.width(" " + cluster) - 1
        if used + columns > width and piece and cluster != " ":
            cut = words or len(piece)
            yield _joined(piece[:cut])
            piece = piece[cut:]
            used, words = sum(columns for _, columns in piece), 0
        piece.append((cluster, columns))
        used += columns
        if cluster == " ":
            words = len(piece)
    if rest := _joined(piece):
        yield rest


def _joined(piece: list[tuple[str, int]]) -> str:
    return "".join(cluster for cluster, _ in piece).strip()


def _priced(lead: str, text: str, value: Decimal, cart: Cart, *, inset: int = 0) -> Iterator[str]:
    """Yield the text, with the amount on its last line, right-aligned.

    The amount ends `inset` columns before the edge of the sheet.
    """
    price = amount(value, cart.currency)
    edge = max(WIDTH - inset, len(price) + len(lead) + 10)
    lines = list(_hanging(lead, text, edge - len(price) - 1))
    yield from lines[:-1]
    last = lines[-1] if lines else lead
    yield last + " " * (edge - len(price) - wcwidth.width(last)) + price


def _pair(left: str, right: str) -> Iterator[str]:
    right = _clean(right)
    # Measured after a space, where a combining mark takes a column of its own.
    gap = WIDTH - wcwidth.width(left) - wcwidth.width(" " + right) + 1
    if gap < 1:
        yield left
        yield from _hanging(INDENT, right)
    else:
        yield left + " " * gap + _isolated(right)


def _clean(text: str) -> str:
    return DIRECTION_MARKS.sub("", text).replace("\t", " ")


def _isolated(text: str) -> str:
    if not text.isascii() and any(unicodedata.bidirectional(c) in {"R", "AL", "AN"} for c in text):
        return f"{ISOLATE}{text}{END_OF_ISOLATE}"
    return text
