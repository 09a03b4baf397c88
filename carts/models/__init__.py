"""Carts, their items and options, and every change of them: a method of `CartManager`."""

from carts.models.cart import Cart
from carts.models.cart_change import CartChange
from carts.models.idempotency import IdempotencyRecord
from carts.models.item import CartItem, CartItemOption
from carts.models.manager import CartManager
from carts.models.staff import FirstPassword, StaffEntry
from carts.models.tombstones import DeletedCart, MovedCart

__all__ = [
    "Cart",
    "CartChange",
    "CartItem",
    "CartItemOption",
    "CartManager",
    "DeletedCart",
    "FirstPassword",
    "IdempotencyRecord",
    "MovedCart",
    "StaffEntry",
]
