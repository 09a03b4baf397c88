from django.db import models

from carts.models.cart_change import NAME_LENGTH, REQUEST_ID_LENGTH, Author
from carts.models.save_guard import GuardedModel
from carts.records import NewCart
from carts.validation import types_of

# What is kept of the cart's own fields: what List Changes tells.
KEPT_OF_DELETED = ("partner_key", "restaurant_key")


class DeletedCart(GuardedModel):
    """When a cart was deleted, and by whom. Of what it held, nothing is left."""

    id = models.UUIDField(primary_key=True)
    profile_key = models.UUIDField(db_index=True)
    # None if an earlier release has deleted the cart.
    partner_key = models.CharField(
        max_length=types_of(NewCart)["partner_key"].max_length, null=True
    )
    restaurant_key = models.IntegerField(null=True)
    deleted_on = models.DateTimeField()
    author_kind = models.CharField(max_length=6)
    author_name = models.CharField(max_length=NAME_LENGTH)
    request_id = models.CharField(max_length=REQUEST_ID_LENGTH, null=True)

    HOW_TO_WRITE = "Cart.objects.delete_cart(cart.pk) records a deletion. purge_carts removes it."

    class Meta:
        """Nothing refers to it, so it needs no guarded base manager."""

        indexes = [models.Index(fields=["deleted_on"], name="carts_deletedcart_deleted_on")]

    def __str__(self) -> str:
        return f"{self.id} of {self.profile_key}"

    @property
    def author(self) -> Author:
        return Author(self.author_kind, self.author_name, self.request_id)
