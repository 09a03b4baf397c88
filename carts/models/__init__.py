"""Carts, their items and the chosen options, and every change that can be made to them.

Every change that a caller can make goes through `CartManager`. It is validated, runs in one
transaction, and begins with a claim on the cart's row. `manage.py shell` has the same guarantees as
a REST caller.
"""

from carts.models.cart import Cart
from carts.models.idempotency import IdempotencyRecord
from carts.models.item import CartItem, CartItemOption

__all__ = ["Cart", "CartItem", "CartItemOption", "IdempotencyRecord"]
