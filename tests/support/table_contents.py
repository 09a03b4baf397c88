"""What the service's tables hold: to compare, to check, and to spoil."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from django.apps import apps
from django.db.models import Model, QuerySet

from carts.models import Cart, CartItem, CartItemOption
from carts.models.writes import Totals

# What the fixture `unchanged` gives: call it to begin anew.
Unchanged = Callable[[], None]


def table_contents() -> list[list[Any]]:
    """Return the whole content of the service's tables, to compare before and after."""
    return [
        list(model.objects.order_by("pk").values())
        for model in apps.get_app_config("carts").get_models()
    ]


def unguarded_rows(model: type[Model]) -> QuerySet[Any]:
    """Return the model's rows, to be written as no caller can."""
    return QuerySet(model)


def stored_totals(cart_id: Any) -> Totals:
    """Return the totals that are stored with the cart."""
    cart = Cart.objects.get(pk=cart_id)
    return Totals(cart.item_count, cart.option_count, cart.subtotal)


def computed_totals(cart_id: Any) -> Totals:
    """Return what the cart's items add up to, computed here."""
    items = list(CartItem.objects.filter(cart_id=cart_id))
    options = list(CartItemOption.objects.filter(item__in=items))
    values = [
        item.quantity
        * (item.price + sum(option.price for option in options if option.item_id == item.pk))
        for item in items
    ]
    assert [item.value for item in items] == values
    return Totals(len(items), len(options), sum(values, Decimal(0)))
