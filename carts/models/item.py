"""Items and their options, as rows."""

from typing import Any

from django.db import models
from django.db.models import UniqueConstraint
from uuid_utils.compat import uuid7

from carts.limits import INT32_MAX, INT32_MIN, PRICE_MAX, PRICE_MIN, QUANTITY_MAX, QUANTITY_MIN
from carts.models import columns, constraints
from carts.models.guarded import GuardedModel
from cartsvc.db.exact_field import ExactField


class CartItem(GuardedModel):
    """An item of a cart (specification: CartItem), at its `position` in the cart.

    `value` is the sum of its price and its options' prices, times its quantity.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    cart = models.ForeignKey(
        "carts.Cart",
        on_delete=models.CASCADE,
        related_name="items",
        db_index=False,  # the unique constraint's index begins with it
        editable=False,
    )
    profile_key = models.UUIDField(editable=False)
    position = models.PositiveIntegerField(editable=False)
    menu_key = columns.line("menu_key")
    menu_version = columns.int32()
    menu_item_key = models.BigIntegerField()
    display_name = columns.line("display_name")
    currency = columns.currency()
    price = columns.price()
    quantity = columns.int32(QUANTITY_MIN, QUANTITY_MAX)
    special_instructions = columns.paragraph("special_instructions")
    value = ExactField(editable=False)

    WRITES = (
        "An item is written with cart.add_item(...), item.change(...), item.replace(...) or "
        "item.remove()."
    )

    class Meta(GuardedModel.Meta):
        abstract = False
        ordering = ["position"]
        constraints = [
            UniqueConstraint(fields=["cart", "position"], name="carts_cartitem_cart_position"),
            *constraints.line_checks("cartitem", "menu_key", "display_name"),
            constraints.range_check("cartitem", "menu_version", INT32_MIN, INT32_MAX),
            constraints.currency_check("cartitem"),
            constraints.range_check("cartitem", "price", PRICE_MIN, PRICE_MAX),
            constraints.range_check("cartitem", "quantity", QUANTITY_MIN, QUANTITY_MAX),
            constraints.paragraph_check("cartitem", "special_instructions"),
        ]

    def __str__(self) -> str:
        return f"{self.quantity} × {self.display_name}"

    def change(self, *, version: int | None = None, **values: Any) -> None:
        """Change the named fields; the others stay as they are now. See `CartManager`."""
        type(self.cart).objects.change_item(self.cart_id, self.pk, values, version=version)
        self.refresh_from_db()

    def replace(self, *, version: int | None = None, **values: Any) -> None:
        """Replace the item entirely. Fields that `values` does not name are not kept."""
        type(self.cart).objects.replace_item(self.cart_id, self.pk, values, version=version)
        self.refresh_from_db()

    def remove(self, *, version: int | None = None) -> None:
        """Remove the item and its options. See `CartManager.remove_item`."""
        type(self.cart).objects.remove_item(self.cart_id, self.pk, version=version)


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
    option_set_key = models.BigIntegerField()
    option_set_item_key = models.BigIntegerField()
    display_name = columns.line("display_name")
    currency = columns.currency()
    price = columns.price()

    WRITES = "Options are chosen with item.change(options=[...]) or item.replace(options=[...])."

    class Meta(GuardedModel.Meta):
        abstract = False
        ordering = ["position"]
        constraints = [
            *constraints.line_checks("cartitemoption", "display_name"),
            constraints.currency_check("cartitemoption"),
            constraints.range_check("cartitemoption", "price", PRICE_MIN, PRICE_MAX),
        ]

    def __str__(self) -> str:
        return self.display_name


def sent_fields(model: type[models.Model]) -> tuple[str, ...]:
    """Return the names of the fields that a caller sends, in the specification's order."""
    return tuple(field.name for field in model._meta.concrete_fields if field.editable)


ITEM_FIELDS = sent_fields(CartItem)
OPTION_FIELDS = sent_fields(CartItemOption)
