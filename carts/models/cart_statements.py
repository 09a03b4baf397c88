"""The statements that write carts, each built once per process."""

from functools import cache

from django.db import models

from carts.models.cart_change import CartChange
from carts.models.deleted_cart import DeletedCart
from carts.models.item import ITEM_COLUMNS, OPTION_COLUMNS, CartItem, CartItemOption
from cartsvc.db.compiled_statements import Insert, Statement, delete, insert_one, update

# By what a change knows its cart. Each statement names the customer; see `reads.CUSTOMER`.
KEYS = ("id", "profile_key")

INSERT_ITEMS = Insert(
    CartItem, ["id", "position", *ITEM_COLUMNS, "value"], shared=["profile_key", "cart_id"]
)
INSERT_OPTIONS = Insert(
    CartItemOption, ["item_id", "position", *OPTION_COLUMNS], shared=["profile_key"]
)
UPDATE_ITEM = update(CartItem, [*ITEM_COLUMNS, "value"], *KEYS)
DELETE_OPTIONS = delete(CartItemOption, "item_id", "profile_key")
DELETE_ITEM = delete(CartItem, *KEYS)
DELETE_ITEMS = delete(CartItem, "cart_id", "profile_key")
DELETE_OPTIONS_OF_CART = Statement(
    "DELETE FROM carts_cartitemoption WHERE profile_key = %s AND item_id IN"
    " (SELECT id FROM carts_cartitem WHERE profile_key = %s AND cart_id = %s)",
    CartItem,
    ["profile_key", "profile_key", "cart_id"],
)
INSERT_CHANGE = insert_one(CartChange)
INSERT_DELETED = insert_one(DeletedCart, " ON CONFLICT DO NOTHING")
DELETE_CHANGES = delete(CartChange, "cart_id", "profile_key")
DELETE_CHANGE = delete(CartChange, "cart_id", "profile_key", "version")


@cache
def insert_cart(model: type[models.Model]) -> Statement:
    return insert_one(model)


@cache
def update_cart(model: type[models.Model], names: tuple[str, ...]) -> Statement:
    return update(model, names, *KEYS)


@cache
def delete_cart(model: type[models.Model]) -> Statement:
    return delete(model, *KEYS)
