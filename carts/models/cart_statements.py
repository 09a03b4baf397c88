"""The statements that write carts, each built once per process."""

from functools import cache

from carts.models.cart import Cart
from carts.models.cart_change import CartChange
from carts.models.item import ITEM_COLUMNS, OPTION_COLUMNS, CartItem, CartItemOption
from carts.models.tombstones import DeletedCart, MovedCart
from cartsvc.db.compiled_statements import (
    Insert,
    MoveRows,
    Statement,
    delete_rows,
    insert_row,
    update_rows,
)

# By what a change knows its cart. Each statement names the customer; see `reads.CUSTOMER`.
CART_KEYS = ("id", "profile_key")

INSERT_CART = insert_row(Cart)
DELETE_CART = delete_rows(Cart, *CART_KEYS)
INSERT_ITEMS = Insert(
    CartItem, ["id", "position", *ITEM_COLUMNS, "value"], shared=["profile_key", "cart_id"]
)
INSERT_OPTIONS = Insert(
    CartItemOption, ["item_id", "position", *OPTION_COLUMNS], shared=["profile_key"]
)
UPDATE_ITEM = update_rows(CartItem, [*ITEM_COLUMNS, "value"], *CART_KEYS)
DELETE_OPTIONS = delete_rows(CartItemOption, "item_id", "profile_key")
DELETE_ITEM = delete_rows(CartItem, *CART_KEYS)
DELETE_ITEMS = delete_rows(CartItem, "cart_id", "profile_key")
DELETE_OPTIONS_OF_CART = Statement(
    "DELETE FROM carts_cartitemoption WHERE profile_key = %s AND item_id IN"
    " (SELECT id FROM carts_cartitem WHERE profile_key = %s AND cart_id = %s)",
    CartItem,
    ["profile_key", "profile_key", "cart_id"],
)
INSERT_CHANGE = insert_row(CartChange)
INSERT_DELETED = insert_row(DeletedCart, " ON CONFLICT DO NOTHING")
DELETE_CHANGES = delete_rows(CartChange, "cart_id", "profile_key")
DELETE_CHANGE = delete_rows(CartChange, "cart_id", "profile_key", "version")
INSERT_MOVED = insert_row(MovedCart)
DELETE_MOVED = delete_rows(MovedCart, "cart_id", "profile_key")
OF_CART = '"profile_key" = %(old)s AND cart_id = %(cart)s'
OF_ITEMS_OF_CART = (
    '"profile_key" = %(old)s AND item_id IN (SELECT id FROM carts_cartitem'
    ' WHERE "profile_key" = %(old)s AND cart_id = %(cart)s)'
)
MOVE_ROWS = MoveRows(
    "profile_key",
    (Cart, '"profile_key" = %(old)s AND id = %(cart)s'),
    (CartItem, OF_CART),
    (CartItemOption, OF_ITEMS_OF_CART),
    (CartChange, OF_CART),
)


@cache
def update_cart(names: tuple[str, ...]) -> Statement:
    return update_rows(Cart, names, *CART_KEYS)
