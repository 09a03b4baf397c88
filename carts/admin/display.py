from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.contrib.humanize.templatetags.humanize import naturaltime
from django.urls import reverse

from carts.admin.slips import amount
from carts.models import Cart, contents

Items = list[dict[str, Any]]


def read(cart_id: UUID) -> tuple[Cart, Items] | None:
    """Return the cart with its history and its items, all as of one moment."""
    cart = Cart.objects.with_contents().defer(None).filter(pk=cart_id).first()
    if cart is None:
        return None
    return cart, contents.assemble(cart.item_rows)


def cart_url(cart_id: UUID, item_id: UUID | None = None) -> str:
    url = reverse("admin:carts_cart_change", args=[cart_id])
    return f"{url}#item-{item_id}" if item_id else url


def summary(cart: Cart) -> dict[str, Any]:
    """Return a row of the list, of a cart that has been counted."""
    return {
        "cart": cart,
        "url": cart_url(cart.id),
        "count": cart.item_count,
        "subtotal": amount(cart.subtotal or 0, cart.currency),
        "created": naturaltime(cart.created_on),
        "changed": naturaltime(cart.modified_on) if cart.version > 1 else "",
    }


def order_line(item: Mapping[str, Any], currency: str) -> dict[str, Any]:
    """Return an item with its amounts as people write them."""
    return {
        **item,
        "price": amount(item["price"], currency),
        "value": amount(item["value"], currency),
        "options": [
            {**option, "price": amount(option["price"], currency)} for option in item["options"]
        ],
    }
