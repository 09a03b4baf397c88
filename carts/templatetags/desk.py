from typing import Any

from django import template
from django.conf import settings

from carts.admin.activity import event_of
from carts.admin.formatting import amount, each, menu_data

register = template.Library()
register.filter(amount)
register.filter(each)
register.filter(event_of)
register.filter(menu_data)


@register.filter
def own_page(key: Any, setting: str) -> str:
    """Return the address of the company's own page of this key, if it has one."""
    template: str = getattr(settings, setting)
    return template.replace("{key}", str(key))
