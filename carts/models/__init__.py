"""Carts, their items and the chosen options: what they hold and what a write means.

Every change goes through `CartManager`: validated, in one transaction, and begun by a
claim on the cart's row. `manage.py shell` has the same guarantees as a REST caller.
"""

from carts.models.cart import Cart
from carts.models.idempotency import IdempotencyRecord
from carts.models.item import CartItem, CartItemOption

__all__ = ["Cart", "CartItem", "CartItemOption", "IdempotencyRecord"]
