from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar
from uuid import UUID

from django.db import models
from django.db.models import Q
from django.utils import timezone
from uuid_utils.compat import uuid7

from carts.models.cart_change import NAME_LENGTH, REQUEST_ID_LENGTH, Author
from carts.models.cart_status import OPEN, STATUS_COLUMNS, STATUSES, CartStatus
from carts.models.columns import checks, column
from carts.models.save_guard import GuardedModel
from carts.records import Closing, Item, NewCart, Reopening, checked_items, checked_key
from cartsvc.db.column_check import ColumnCheck
from cartsvc.db.exact_field import ExactField

if TYPE_CHECKING:
    from carts.models.item import CartItem
    from carts.models.manager import CartManager

SentItems = Iterable[Item | Mapping[str, object]]


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
    # How it was closed. A checkout that has run out is open: read `status`.
    stored_status = models.CharField(
        db_column="status", max_length=9, default=OPEN, db_default=OPEN, editable=False
    )
    closed_on = models.DateTimeField(null=True, editable=False)
    closed_until = models.DateTimeField(null=True, editable=False)
    reference = column(Closing, "reference")
    order_reference = column(Closing, "order_reference")
    # The creation. The changes since are in `CartChange`.
    created_on = models.DateTimeField(default=timezone.now, editable=False)
    created_by_kind = models.CharField(max_length=6, editable=False)
    created_by_name = models.CharField(max_length=NAME_LENGTH, editable=False)
    created_request_id = models.CharField(max_length=REQUEST_ID_LENGTH, null=True, editable=False)

    # `carts.models.manager` imports this module, and sets it.
    objects: ClassVar["CartManager"]

    class Meta(GuardedModel.Meta):
        # modified_on has no index: with one, every change of a cart would write to all indexes.
        indexes = [
            models.Index(fields=["profile_key", "id"], name="carts_cart_profile_key_id"),
            models.Index(fields=["restaurant_key", "id"], name="carts_cart_restaurant_key_id"),
            models.Index(fields=["partner_key", "id"], name="carts_cart_partner_key_id"),
            # Of closed carts alone, so that they cost an open one nothing.
            *(
                models.Index(
                    fields=[name, "id"],
                    name=f"carts_cart_{name}_id",
                    condition=Q(**{f"{name}__isnull": False}),
                )
                for name in ("reference", "order_reference")
            ),
            # For the status of List Carts. Of closed carts as well: `has_status` says so.
            models.Index(
                fields=["profile_key", "stored_status", "id"],
                name="carts_cart_profile_status_id",
                condition=Q(closed_on__isnull=False),
            ),
        ]
        constraints = [
            *checks("cart", NewCart),
            *checks("cart", Closing, ["reference", "order_reference"]),
            ColumnCheck(
                field="stored_status",
                name="carts_cart_status",
                condition=Q(stored_status__in=STATUSES),
            ),
        ]

    def __str__(self) -> str:
        # The log of changes by staff keeps this text. It finds a customer's entries.
        return f"{self.id} of {self.profile_key}"

    def __repr__(self) -> str:
        holds = f"items {self.item_count}, subtotal {self.subtotal} {self.currency}"
        return f"<Cart {self.id}: restaurant {self.restaurant_key}, {self.status}, {holds}>"

    @property
    def created_by(self) -> Author:
        return Author(self.created_by_kind, self.created_by_name, self.created_request_id)

    @property
    def status(self) -> str:
        """What the cart is now: `open`, `checkout`, `ordered` or `abandoned`."""
        return self.state.status

    @property
    def state(self) -> CartStatus:
        """Whether the cart is open now, and if it is closed, how."""
        stored = CartStatus(*(getattr(self, name) for name in STATUS_COLUMNS))
        return stored.as_of(timezone.now())

    def change(self, *, version: int | None = None, **changes: Any) -> None:
        """Change the named fields; the others stay as they are. See `CartManager.change_cart`."""
        Cart.objects.change_cart(self.pk, changes, version=version)
        self.refresh_from_db()

    def add_item(self, *, version: int | None = None, **values: Any) -> "CartItem":
        """Add an item with its `options` after the last one; see `CartManager.add_item`."""
        item_id = uuid7()
        Cart.objects.add_item(self.pk, item_id, Item(**values), version=version)
        self.refresh_from_db()
        return self.items.get(pk=item_id)

    def add_items(self, items: SentItems, *, version: int | None = None) -> list["CartItem"]:
        """Add items after the last one, all or none; see `CartManager.add_items`."""
        added = {key or uuid7(): item for key, item in checked_items(items)}
        Cart.objects.add_items(self.pk, added, version=version)
        self.refresh_from_db()
        return list(self.items.filter(pk__in=added))

    def replace_items(self, items: SentItems, *, version: int | None = None) -> list["CartItem"]:
        """Make these the cart's items; one with an item's `id` replaces it. See `CartManager`."""
        found = checked_items(items)
        placed = {key or uuid7(): item for key, item in found}
        kept = {key for key, _ in found if key}
        Cart.objects.replace_items(self.pk, placed, kept, version=version)
        self.refresh_from_db()
        return list(self.items.all())

    def close(self, *, version: int | None = None, **values: Any) -> None:
        """Close the cart with an `outcome` and a `reference`; see `CartManager.close_cart`."""
        Cart.objects.close_cart(self.pk, Closing(**values), version=version)
        self.refresh_from_db()

    def reopen(self, *, version: int | None = None, **values: Any) -> None:
        """Open the cart, or with a `reference` its checkout; see `CartManager.reopen_cart`."""
        Cart.objects.reopen_cart(self.pk, Reopening(**values) if values else None, version=version)
        self.refresh_from_db()

    def move(self, profile_key: UUID | str, *, version: int | None = None) -> None:
        """Give the cart to another customer; see `CartManager.move_cart`."""
        customer = checked_key("profile_key", profile_key)
        Cart.objects.move_cart(self.pk, customer, version=version)
        self.refresh_from_db()
