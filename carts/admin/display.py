import re
from typing import Any
from uuid import UUID

from django.urls import reverse

from carts.models import Cart
from carts.models.reads import items_of

Items = list[dict[str, Any]]

# What the desk calls a field whose name does not say it.
LABELS = {
    "display_name": "Name",
    "note": "Note on the customer's invoice",
    "special_instructions": "Instructions for the kitchen",
}

# The most items and options of an order that a page shows.
LINES = 300


def read(cart_id: UUID) -> tuple[Cart, Items] | None:
    """Return the cart and its items, from a single query."""
    cart = Cart.objects.with_items().filter(pk=cart_id).first()
    return cart and (cart, items_of(cart.items_json))


def in_words(value: Any) -> str:
    """Return a value that is no price as histories show it: a text in quotes."""
    if isinstance(value, str):
        return f"“{value}”"
    return "nothing" if value is None else str(value)


def version_of(text: str) -> int | None:
    """Return the version of a cart that a form or an address names, or None if it names none."""
    return int(text) if re.fullmatch("[0-9]{1,9}", text) else None


def cart_url(cart_id: UUID, item_id: UUID | None = None) -> str:
    """Return the path of a cart's page, at one of its items if given."""
    url = reverse("admin:carts_cart_change", args=[cart_id])
    return f"{url}?item={item_id}#item-{item_id}" if item_id else url


def part_of(items: Items, item_id: UUID | None) -> dict[str, Any]:
    """Return the part of the order that holds the item, or the first part without the item.

    A part has at most `LINES` lines, unless a single item has more. `first` and `last` are
    numbers of items, counted from 1. `before` and `after` are the first items of the neighbouring
    parts.
    """
    starts, number, lines = [0], 0, 0
    for place, item in enumerate(items):
        own = 1 + len(item["options"])
        lines += own
        if lines > LINES and place > starts[-1]:
            starts.append(place)
            lines = own
        if item["item_id"] == item_id:
            number = len(starts) - 1
    start, end = [*starts, len(items)][number : number + 2]
    return {
        "items": items[start:end],
        "first": start + 1,
        "last": end,
        "total": len(items),
        "before": items[starts[number - 1]]["item_id"] if number else None,
        "after": items[end]["item_id"] if end < len(items) else None,
    }
