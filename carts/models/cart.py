from typing import Any
from uuid import UUID

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import models, transaction
from django.utils import timezone
from uuid_utils.compat import uuid7

from carts import validators
from carts.models import fields, history
from carts.models.constraints import currency_check, int32_check, line_check, paragraph_check
from carts.models.history import Record
from carts.models.item import CartItem, ItemDraft, field_errors
from carts.models.manager import CartManager
from carts.models.totals import Totals
from carts.problems import CURRENCY_MISMATCH
from cartsvc.db.decimals import ExactField
from cartsvc.db.fields import PositiveBigIntegerField, PositiveIntegerField, TextField


class Cart(models.Model):
    """A shopping cart of a customer profile for a restaurant order."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    profile_key = models.UUIDField()
    partner_key = fields.line("partner_key")
    restaurant_key = fields.int32()
    platform = fields.line("platform")
    ordering_channel = fields.line("ordering_channel")
    fulfilment_channel = fields.line("fulfilment_channel")
    currency = fields.currency()
    note = fields.paragraph("note")
    special_instructions = fields.paragraph("special_instructions")
    version = PositiveBigIntegerField(default=1, editable=False)
    # Kept by the claims; null in a cart of before they were, until `recount_carts` has run.
    item_count = PositiveIntegerField(null=True, editable=False)
    option_count = PositiveIntegerField(null=True, editable=False)
    subtotal = ExactField(null=True, editable=False)
    created_on = models.DateTimeField(default=timezone.now, editable=False)
    modified_on = models.DateTimeField(editable=False)
    # The first record, and as many of the last ones as fit: see `carts.models.history`.
    creation = TextField(default="", db_default="", editable=False)
    history = TextField(default="", editable=False)

    # What `CartQuerySet.with_contents` and `with_amounts` read along.
    item_rows: list[list[Any]] | None

    objects = CartManager()

    class Meta:
        # None on modified_on: it would make every change of a cart write to every index.
        indexes = [
            models.Index(fields=["profile_key", "id"], name="carts_cart_profile_key_id"),
            models.Index(fields=["restaurant_key", "id"], name="carts_cart_restaurant_key_id"),
            models.Index(fields=["partner_key", "id"], name="carts_cart_partner_key_id"),
        ]
        constraints = [
            line_check("cart", "partner_key"),
            int32_check("cart", "restaurant_key"),
            line_check("cart", "platform"),
            line_check("cart", "ordering_channel"),
            line_check("cart", "fulfilment_channel"),
            currency_check("cart"),
            paragraph_check("cart", "note"),
            paragraph_check("cart", "special_instructions"),
        ]

    def __str__(self) -> str:
        return str(self.id)

    def save(self, **kwargs: Any) -> None:
        """Save a changed cart as the API would: validated, claimed, never brought back.

        Raises:
            TypeError: the cart is new; `Cart.objects.create_with_items` makes it.
            ValidationError: values that the specification does not allow.
            Refused: `cart_not_found`, `currency_mismatch`.
        """
        if self._state.adding:
            raise TypeError("A new cart is made with Cart.objects.create_with_items(...).")
        self.clean_fields()
        with transaction.atomic():
            self.claim("Update Cart")
            if self.items.exclude(currency=self.currency).exists():
                CURRENCY_MISMATCH.refuse(
                    "The cart's items are in another currency.", field="currency"
                )
            super().save(force_update=True, **kwargs)

    def delete(self, *args: Any, **kwargs: Any) -> tuple[int, dict[str, int]]:
        """Delete the cart with its items as nobody is changing it: claimed first."""
        with transaction.atomic():
            self.claim("Delete Cart")
            return super().delete(*args, **kwargs)

    def records(self) -> list[Record]:
        """Return what happened to the cart, oldest first."""
        return list(history.parse(self.creation, self.history, self.version))

    def totals(self) -> Totals | None:
        """Return what is kept with the cart of what it adds up to, if it has been counted."""
        if self.item_count is None or self.option_count is None or self.subtotal is None:
            return None
        return Totals(self.item_count, self.option_count, self.subtotal)

    def count(self, totals: Totals) -> None:
        """Take over what the cart's items add up to."""
        self.item_count, self.option_count = totals.item_count, totals.option_count
        self.subtotal = totals.subtotal

    def clean_with(self, drafts: list[ItemDraft]) -> None:
        """Validate the cart with the items that it is to have.

        Raises:
            ValidationError: by field; those of an item as `items[0].options[1].price`.
        """
        errors = field_errors(self, exclude=())
        try:
            validators.validate_count(len(drafts), settings.MAX_ITEMS, "items in a cart")
        except ValidationError as error:
            errors["items"] = [error]
        for position, draft in enumerate(drafts):
            path = f"items[{position}]"
            try:
                draft.clean()
            except ValidationError as error:
                errors |= {f"{path}.{name}": inner for name, inner in error.error_dict.items()}
        if errors:
            raise ValidationError(errors)

    def claim(self, operation: str, **expected: Any) -> None:
        """Lock the cart and raise its version; see `CartManager.claim`."""
        type(self).objects.claim(self.pk, operation, **expected)
        self._refresh()

    def _refresh(self) -> None:
        self.refresh_from_db(
            fields=["version", "modified_on", "history", "item_count", "option_count", "subtotal"]
        )

    def add_item(self, *, version: int | None = None, **values: Any) -> CartItem:
        """Add an item with its `options` behind the last one; see `CartManager.add_item`."""
        item_id = values.setdefault("id", uuid7())
        type(self).objects.add_item(self.pk, values, version=version)
        self._refresh()
        return self.items.get(pk=item_id)

    def replace_item(self, item_id: UUID, *, version: int | None = None, **values: Any) -> None:
        """Replace an item entirely; see `CartManager.replace_item`."""
        type(self).objects.replace_item(self.pk, item_id, values, version=version)
        self._refresh()

    def remove_item(self, item_id: UUID, *, version: int | None = None) -> None:
        """Remove an item; see `CartManager.remove_item`."""
        type(self).objects.remove_item(self.pk, item_id, version=version)
        self._refresh()
