from django.db import models

from carts.models.cart_change import AuthoredModel


class MovedCart(AuthoredModel):
    """When a cart went from a customer to another one, and by whom."""

    pk = models.CompositePrimaryKey("cart_id", "profile_key")
    cart_id = models.UUIDField()
    profile_key = models.UUIDField(db_index=True)  # whose it was
    moved_on = models.DateTimeField()

    HOW_TO_WRITE = "cart.move(profile_key) records a move. purge_carts removes it."

    def __str__(self) -> str:
        return f"{self.cart_id}, once of {self.profile_key}"
