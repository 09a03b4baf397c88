"""Items that name their write, and what callers and the database show of them."""

import uuid
from collections.abc import Iterator
from decimal import Decimal
from itertools import groupby
from operator import itemgetter
from typing import Any

from tests.machines.campaign.history_checker import OPEN, Operation
from tests.support import bodies

CARTS = """
    SELECT c.id, c.note, c.version, c.subtotal, c.status, c.reference, c.order_reference,
        i.id, i.display_name, i.quantity, i.value, o.display_name
    FROM carts_cart c
    LEFT JOIN carts_cartitem i ON i.cart_id = c.id AND i.profile_key = c.profile_key
    LEFT JOIN carts_cartitemoption o ON o.item_id = i.id AND o.profile_key = i.profile_key
    WHERE replace(CAST(c.profile_key AS text), '-', '') = '{profile}'
    ORDER BY c.id, i.position, o.position
"""
NO_CART: Operation = {"version": 0, "items": [], "subtotal": 0}


def named_item(name: str) -> dict[str, Any]:
    """Return an item whose rows all have its name. The name's last digit counts the options."""
    options = int(name[-1])
    return bodies.item(
        displayName=name,
        quantity=options,
        options=[bodies.option(displayName=f"{name}/{number}") for number in range(options)],
    )


def observed_name(name: str, quantity: int, options: list[str]) -> str:
    """Return the name of an item that is as its writer sent it, of any other all that it has."""
    if not name[-1:].isdigit():
        return name
    whole = named_item(name)
    sent = (whole["quantity"], [option["displayName"] for option in whole["options"]])
    return name if sent == (quantity, options) else f"{name} x {quantity} with {options}"


def cents(amount: Any) -> int:
    return round(Decimal(str(amount)) * 100)


def guid(key: Any) -> str:
    """Return an id as the API writes it. SQLite has it without dashes."""
    return str(uuid.UUID(str(key)))


def closing_of(status: str, reference: str | None, number: str | None = None) -> str:
    return OPEN if status == OPEN else f"{status} {reference} {number}"


def as_read(data: dict[str, Any]) -> Operation:
    """Return what Get Cart shows of a cart."""
    items = []
    for item in data["items"]:
        options = [option["displayName"] for option in item["options"]]
        name = observed_name(item["displayName"], item["quantity"], options)
        items.append([item["itemId"], name, cents(item["value"])])
    closing = closing_of(data["status"], data["reference"], data["orderReference"])
    shown = {"key": data["note"], "items": items, "subtotal": cents(data["subtotal"])}
    return {**shown, "closing": closing}


def in_database(connection: Any, profile: uuid.UUID) -> Iterator[Operation]:
    """Yield what the database holds of each of the profile's carts."""
    rows = connection.execute(CARTS.format(profile=profile.hex))
    for (cart, note, version, subtotal, *closing), of_cart in groupby(rows, itemgetter(*range(7))):
        items = []
        for (key, name, quantity, value), of_item in groupby(of_cart, itemgetter(7, 8, 9, 10)):
            if key:
                options = [option for *_, option in of_item if option]
                items.append([guid(key), observed_name(name, quantity, options), cents(value)])
        shown = {"key": note, "items": items, "subtotal": cents(subtotal)}
        shown["closing"] = closing_of(*closing)
        yield {"cart": guid(cart), "version": version, **shown}
