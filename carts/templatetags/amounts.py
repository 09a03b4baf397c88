from typing import Any

from django import template

from carts.admin.formatting import amount, each, menu_data

register = template.Library()
register.filter(amount)
register.filter(each)
register.filter(menu_data)


@register.filter
def at(found: Any, key: Any) -> Any:
    """Return what is found there, or nothing."""
    return (found or {}).get(key, ())
