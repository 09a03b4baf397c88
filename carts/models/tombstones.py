"""What is kept of a cart where it is no more: deleted, or with another customer."""

from django.db import models

from carts.models.cart_change import AuthoredModel
from carts.models.columns import column
from carts.records import NewCart

# What is kept of the cart's own fields: what List Changes tells.
KEPT_OF_DELETED = ("partner_key", "restaurant_key")


class DeletedCart(AuthoredModel):
    """When a cart was deleted, and by whom. Of what it held, nothing is left."""

    id = models.UUIDField(primary_key=True)
    profile_key = models.UUIDField(db_index=True)
    partner_key = column(NewCart, "partner_key")
    restaurant_key = column(NewCart, "restaurant_key")
    deleted_on = models.DateTimeField()

    class Meta:
        indexes = [models.Index(fields=["deleted_on"], name="carts_deletedcart_deleted_on")]

    def __str__(self) -> str:
        return f"{self.id} of {self.profile_key}"


class MovedCart(AuthoredModel):
    """When a cart went from a customer to another one, and by whom."""

    pk = models.CompositePrimaryKey("cart_id", "profile_key")
    cart_id = models.UUIDField()
    profile_key = models.UUIDField(db_index=True)  # whose it was
    moved_on = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.cart_id}, once of {self.profile_key}"
