from typing import Any, ClassVar, Self
from uuid import UUID

from django.db import models
from django.utils import timezone
from uuid_utils.compat import uuid7

from carts.models.change import NAME_LENGTH, REQUEST_ID_LENGTH, Author
from carts.models.columns import checks, column
from carts.models.guarded import GuardedModel
from carts.models.item import CartItem
from carts.models.manager import CartManager
from carts.values import Item, NewCart
from cartsvc.db.exact_field import ExactField


class Cart(GuardedModel):
    """A shopping cart of a customer profile for a restaurant order."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    profile_key = models.UUIDField(editable=False)
    partner_key = column(NewCart, "partner_key")
    restaurant_key = column(NewCart, "restaurant_key")
    platform = column(NewCart, "platform")
    ordering_channel = column(NewCart, "ordering_channel")
    fulfilment_channel = column(NewCart, "fulfilment_channel")
    currency = column(NewCart, "currency")
    note = column(NewCart, "note")
    special_instructions = column(NewCart, "special_instructions")
    # What every change writes.
    version = models.PositiveBigIntegerField(default=1, editable=False)
    item_count = models.PositiveIntegerField(editable=False)
    option_count = models.PositiveIntegerField(editable=False)
    subtotal = ExactField(editable=False)
    modified_on = models.DateTimeField(editable=False)
    # The creation. The changes since are in `CartChange`.
    created_on = models.DateTimeField(default=timezone.now, editable=False)
    created_by_kind = models.CharField(max_length=6, editable=False)
    created_by_name = models.CharField(max_length=NAME_LENGTH, editable=False)
    created_request_id = models.CharField(max_length=REQUEST_ID_LENGTH, null=True, editable=False)

    objects: ClassVar[CartManager[Self]] = CartManager()

    HOW_TO_WRITE = (
        "A cart is written with Cart.objects.create_with_items(...), cart.change(...), "
        "cart.add_item(...), Cart.objects.delete_cart(...) and the methods of its items. Many are "
        "deleted with Cart.objects.filter(...).delete()."
    )

    class Meta(GuardedModel.Meta):
        abstract = False
        # modified_on has no index: with one, every change of a cart would write to all indexes.
        indexes = [
            models.Index(fields=["profile_key", "id"], name="carts_cart_profile_key_id"),
            models.Index(fields=["restaurant_key", "id"], name="carts_cart_restaurant_key_id"),
            models.Index(fields=["partner_key", "id"], name="carts_cart_partner_key_id"),
        ]
        constraints = checks("cart", NewCart)

    def __str__(self) -> str:
        # The log of changes by staff keeps this text. It finds a customer's entries.
        return f"{self.id} of {self.profile_key}"

    @property
    def created_by(self) -> Author:
        return Author(self.created_by_kind, self.created_by_name, self.created_request_id)

    def change(self, *, version: int | None = None, **changes: Any) -> None:
        """Change the named fields; the others stay as they are. See `CartManager.change_cart`."""
        type(self).objects.change_cart(self.pk, changes, version=version)
        self.refresh_from_db()

    def add_item(self, *, version: int | None = None, **values: Any) -> CartItem:
        """Add an item with its `options` after the last one; see `CartManager.add_item`."""
        item_id: UUID = values.pop("id", None) or uuid7()
        type(self).objects.add_item(self.pk, item_id, Item(**values), version=version)
        self.refresh_from_db()
        return self.items.get(pk=item_id)
