from django.db import models

from carts.models.cart_change import NAME_LENGTH, REQUEST_ID_LENGTH, Author
from carts.models.save_guard import GuardedModel


class MovedCart(GuardedModel):
    """When a cart went from a customer to another one, and by whom."""

    pk = models.CompositePrimaryKey("cart_id", "profile_key")
    cart_id = models.UUIDField()
    profile_key = models.UUIDField(db_index=True)  # whose it was
    moved_on = models.DateTimeField()
    author_kind = models.CharField(max_length=6)
    author_name = models.CharField(max_length=NAME_LENGTH)
    request_id = models.CharField(max_length=REQUEST_ID_LENGTH, null=True)

    HOW_TO_WRITE = "cart.move(profile_key) records a move. purge_carts removes it."

    class Meta:
        """Nothing refers to it, so it needs no guarded base manager."""

    def __str__(self) -> str:
        return f"{self.cart_id}, once of {self.profile_key}"

    @property
    def author(self) -> Author:
        return Author(self.author_kind, self.author_name, self.request_id)
