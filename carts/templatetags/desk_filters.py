from decimal import Decimal
from uuid import UUID

from django import template
from django.conf import settings
from django.utils.html import conditional_escape, format_html
from django.utils.safestring import SafeString, mark_safe

from carts.admin.activity import event_url
from carts.admin.formatting import ISOLATE_END, ISOLATE_START, format_amount, isolate, label_of
from carts.admin.forms import CHANNELS
from carts.models import Cart
from carts.records import Item

register = template.Library()
register.filter("amount", format_amount)
register.filter(event_url)
register.filter(isolate)

# What the lines of an order show of an item.
IN_LINES = {
    *("display_name", "quantity", "price", "currency", "options", "special_instructions"),
}


@register.simple_tag
def recent_channels() -> dict[str, list[str]]:
    newest = Cart.objects.order_by("-pk").values(*CHANNELS)[:100]
    return {name: sorted({cart[name] for cart in newest}) for name in CHANNELS}


@register.filter
def menu_data(item: Item) -> SafeString:
    """Return each field that is sent and not in the lines of an order, with its label."""
    values = {name: value for name, value in item._asdict().items() if name not in IN_LINES}
    texts = (f"{label_of(n)} {isolate(value)}" for n, value in values.items() if value is not None)
    return _with_bdi(", ".join(texts))


@register.filter
def price_with_options(value: Decimal, item: Item) -> Decimal | None:
    """Return what one costs with its options, if that is neither the price nor the item's value."""
    one = value / item.quantity
    return None if one in {value, item.price} else one


@register.filter
def company_url(key: UUID | int, setting: str) -> str:
    return str(getattr(settings, setting)).replace("{key}", str(key))


@register.filter
def isolated(value: object) -> SafeString:
    return _with_bdi(isolate(value))


@register.filter
def isolated_values(text: str) -> SafeString:
    """Return the text from left to right, with a `<bdi>` for each isolate in it."""
    return format_html('<span dir="ltr">{}</span>', _with_bdi(text))


def _with_bdi(text: str) -> SafeString:
    html = conditional_escape(text).replace(ISOLATE_START, "<bdi>").replace(ISOLATE_END, "</bdi>")
    return mark_safe(html)  # noqa: S308
