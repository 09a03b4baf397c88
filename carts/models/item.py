from typing import Any

from django.db import models
from django.db.models import UniqueConstraint
from uuid_utils.compat import uuid7

from carts.models.cart import Cart
from carts.models.columns import checks, column, column_names
from carts.models.save_guard import GuardedModel
from carts.records import Item, Option
from cartsvc.db.exact_field import ExactField


class CartItem(GuardedModel):
    """An item of a cart (specification: CartItem), at its `position` in the cart.

    `value` is the sum of its price and its options' prices, times its quantity.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    cart = models.ForeignKey(
        Cart,
        on_delete=models.CASCADE,
        related_name="items",
        db_index=False,  # the unique constraint's index begins with it
        editable=False,
    )
    profile_key = models.UUIDField(editable=False)
    position = models.PositiveIntegerField(editable=False)
    menu_key = column(Item, "menu_key")
    menu_version = column(Item, "menu_version")
    menu_item_key = column(Item, "menu_item_key")
    display_name = column(Item, "display_name")
    currency = column(Item, "currency")
    price = column(Item, "price")
    quantity = column(Item, "quantity")
    special_instructions = column(Item, "special_instructions")
    value = ExactField(editable=False)

    class Meta(GuardedModel.Meta):
        ordering = ["position"]
        constraints = [
            UniqueConstraint(fields=["cart", "position"], name="carts_cartitem_cart_position"),
            *checks("cartitem", Item),
        ]

    def __str__(self) -> str:
        return f"{self.quantity} × {self.display_name}"

    def change(self, *, version: int | None = None, **changes: Any) -> None:
        """Change the named fields; the others stay as they are now. See `CartManager`."""
        Cart.objects.change_item(self.cart_id, self.pk, changes, version=version)
        self.refresh_from_db()

    def replace(self, *, version: int | None = None, **values: Any) -> None:
        """Replace the item entirely. Fields that `values` does not name are not kept."""
        Cart.objects.replace_item(self.cart_id, self.pk, Item(**values), version=version)
        self.refresh_from_db()

    def remove(self, *, version: int | None = None) -> None:
        """Remove the item and its options. See `CartManager.remove_item`."""
        Cart.objects.remove_item(self.cart_id, self.pk, version=version)


class CartItemOption(GuardedModel):
    """An option that the customer selected (specification: CartItemOption).

    No caller refers to an option, so its key is its item and its position in the item.
    """

    pk = models.CompositePrimaryKey("item_id", "position")
    item = models.ForeignKey(
        CartItem,
        on_delete=models.CASCADE,
        related_name="options",
        db_index=False,  # the primary key's index begins with it
        editable=False,
    )
    profile_key = models.UUIDField(editable=False)
    position = models.PositiveIntegerField(editable=False)
    option_set_key = column(Option, "option_set_key")
    option_set_item_key = column(Option, "option_set_item_key")
    display_name = column(Option, "display_name")
    currency = column(Option, "currency")
    price = column(Option, "price")

    class Meta(GuardedModel.Meta):
        ordering = ["position"]
        constraints = checks("cartitemoption", Option)

    def __str__(self) -> str:
        return self.display_name


ITEM_COLUMNS, OPTION_COLUMNS = column_names(Item), column_names(Option)
