"""Carts, their items and the chosen options, and every change that can be made to them.

Every change goes through `CartManager`: it is validated, runs in one transaction, and, if it is no
creation, begins with a lock on the cart's row. `manage.py shell` has the same guarantees as a REST
caller.
"""

from carts.models.cart import Cart
from carts.models.cart_change import CartChange
from carts.models.deleted_cart import DeletedCart
from carts.models.first_password import FirstPassword
from carts.models.idempotency import IdempotencyRecord
from carts.models.item import CartItem, CartItemOption
from carts.models.moved_cart import MovedCart
from carts.models.staff_entry import StaffEntry

__all__ = [
    "Cart",
    "CartChange",
    "CartItem",
    "CartItemOption",
    "DeletedCart",
    "FirstPassword",
    "IdempotencyRecord",
    "MovedCart",
    "StaffEntry",
]
