"""The filters of the desk's templates."""

import re
from decimal import Decimal
from typing import Any

from django import template
from django.conf import settings
from django.utils.html import conditional_escape, escape, format_html
from django.utils.safestring import SafeData, SafeString, mark_safe

from carts.admin.activity import event_of
from carts.admin.formatting import amount, label_of
from carts.admin.forms import CHANNELS
from carts.models import Cart
from carts.records import Item

register = template.Library()
register.filter(amount)
register.filter(event_of)

# What the lines of an order show of an item.
IN_LINES = {
    *("display_name", "quantity", "price", "currency", "options", "special_instructions"),
}

# Browsers let these reach out of an isolate. Nobody sees them, and a text reads well without them.
# At the line separators they begin no new line.
CONTROLS = dict.fromkeys((*range(0x202A, 0x202F), *range(0x2066, 0x206A)))
CONTROLS |= dict.fromkeys((0x2028, 0x2029), "\n")

# The values in a line such as `name “a” → “b”`, of an item and of an option.
VALUES = re.compile(
    r"(?<=“).*?(?=”)|(?<=[0-9] × ).+?(?=, [0-9])|(?<=[+−] option ).+?(?=, [0-9]|; |$)"
    r"|(?<=\+ )(?!option ).+?(?=, [0-9]|; |$)",
    re.DOTALL,
)


@register.simple_tag
def channels_seen() -> dict[str, list[str]]:
    """Return the channels of the newest carts, by the names of the fields."""
    newest = Cart.objects.order_by("-pk").values(*CHANNELS)[:100]
    return {name: sorted({cart[name] for cart in newest}) for name in CHANNELS}


@register.filter
def menu_data(item: Item) -> str:
    """Return each field that is sent and not in the lines of an order, with its label."""
    values = {name: value for name, value in item._asdict().items() if name not in IN_LINES}
    return ", ".join(f"{label_of(n)} {value}" for n, value in values.items() if value is not None)


@register.filter
def each(value: Decimal, item: Item) -> Decimal | None:
    """Return what one costs with its options, if that is neither the price nor the item's value."""
    one = value / item.quantity
    return None if one in {value, item.price} else one


@register.filter
def own_page(key: Any, setting: str) -> str:
    """Return the address of the company's own page of this key, if it has one."""
    template: str = getattr(settings, setting)
    return template.replace("{key}", str(key))


@register.filter
def isolated(text: Any) -> SafeString:
    """Return what a caller wrote as an isolate: an Arabic text turns nothing beside it around."""
    return mark_safe(f"<bdi>{escape(str(text).translate(CONTROLS))}</bdi>")  # noqa: S308


@register.filter
def isolated_values(line: Any) -> SafeString:
    """Return the line from left to right, with an isolate for each value in it.

    HTML of Django's stays as it is.
    """
    if isinstance(line, SafeData):
        return format_html("{}", line)
    text, end, parts = str(line).translate(CONTROLS), 0, []
    for value in VALUES.finditer(text):
        parts += [conditional_escape(text[end : value.start()]), isolated(value[0])]
        end = value.end()
    rest = conditional_escape(text[end:])
    return format_html('<span dir="ltr">{}{}</span>', mark_safe("".join(parts)), rest)  # noqa: S308
