"""The statements that write carts, each built once per process."""

from functools import cache

from django.db import models

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


@cache
def insert_cart(model: type[models.Model]) -> Statement:
    return insert_row(model)


@cache
def update_cart(model: type[models.Model], names: tuple[str, ...]) -> Statement:
    return update_rows(model, names, *CART_KEYS)


@cache
def delete_cart(model: type[models.Model]) -> Statement:
    return delete_rows(model, *CART_KEYS)


@cache
def move_rows(model: type[models.Model]) -> MoveRows:
    of_cart = '"profile_key" = %(old)s AND cart_id = %(cart)s'
    of_items = (
        '"profile_key" = %(old)s AND item_id IN (SELECT id FROM carts_cartitem'
        ' WHERE "profile_key" = %(old)s AND cart_id = %(cart)s)'
    )
    return MoveRows(
        "profile_key",
        (model, '"profile_key" = %(old)s AND id = %(cart)s'),
        (CartItem, of_cart),
        (CartItemOption, of_items),
        (CartChange, of_cart),
    )
