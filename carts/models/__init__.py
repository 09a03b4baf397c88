"""Carts, their items and options, and every change of them: a method of `CartManager`."""

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
