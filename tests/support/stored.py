"""The whole content of the service's tables, to compare before and after."""

from typing import Any

from carts.models import Cart, CartItem, CartItemOption, IdempotencyRecord


def stored() -> list[list[Any]]:
    return [
        list(model.objects.order_by("pk").values())
        for model in (Cart, CartItem, CartItemOption, IdempotencyRecord)
    ]
