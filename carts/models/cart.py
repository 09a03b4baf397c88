from typing import Any
from uuid import UUID

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import models, transaction
from django.utils import timezone
from uuid_utils.compat import uuid7

from carts import limits
from carts.errors import CurrencyMismatch
from carts.models import columns, history
from carts.models.constraints import currency_check, int32_check, line_check, paragraph_check
from carts.models.history import Record
from carts.models.item import CartItem, ItemDraft, field_errors
from carts.models.manager import CartManager
from carts.models.totals import Totals
from cartsvc.db.decimals import ExactField
from cartsvc.db.fields import PositiveBigIntegerField, PositiveIntegerField, TextField


class Cart(models.Model):
    """A shopping cart of a customer profile for a restaurant order."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    profile_key = models.UUIDField()
    partner_key = columns.line("partner_key")
    restaurant_key = columns.int32()
    platform = columns.line("platform")
    ordering_channel = columns.line("ordering_channel")
    fulfilment_channel = columns.line("fulfilment_channel")
    currency = columns.currency()
    note = columns.paragraph("note")
    special_instructions = columns.paragraph("special_instructions")
    version = PositiveBigIntegerField(default=1, editable=False)
    # The claims keep these up to date. They are null in a cart that an earlier release made,
    # until `recount_carts` has run.
    item_count = PositiveIntegerField(null=True, editable=False)
    option_count = PositiveIntegerField(null=True, editable=False)
    subtotal = ExactField(null=True, editable=False)
    created_on = models.DateTimeField(default=timezone.now, editable=False)
    modified_on = models.DateTimeField(editable=False)
    # The first record, and as many of the latest ones as fit. See `carts.models.history`.
    creation = TextField(default="", db_default="", editable=False)
    history = TextField(default="", editable=False)

    # Set by `CartQuerySet.with_contents` and `with_amounts`.
    item_rows: list[list[Any]] | None

    objects = CartManager()

    class Meta:
        # modified_on has no index: with one, every change of a cart would write to all indexes.
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
        """Save a changed cart with the guarantees of the API: validated and claimed.

        A cart that has been deleted is not created again.

        Raises:
            TypeError: the cart is new. Use `Cart.objects.create_with_items`.
            ValidationError: values that the specification does not allow.
            Refusal: `cart_not_found`, `currency_mismatch`.
        """
        if self._state.adding:
            raise TypeError("A new cart is made with Cart.objects.create_with_items(...).")
        self.clean_fields()
        with transaction.atomic():
            self.claim("Update Cart")
            if self.items.exclude(currency=self.currency).exists():
                raise CurrencyMismatch(
                    "The cart's items are in another currency.", field="currency"
                )
            super().save(force_update=True, **kwargs)

    def delete(self, *args: Any, **kwargs: Any) -> tuple[int, dict[str, int]]:
        """Delete the cart with its items. Claim it first, so that no change runs meanwhile.

        Raises:
            Refusal: `cart_not_found`.
        """
        with transaction.atomic():
            self.claim("Delete Cart")
            return super().delete(*args, **kwargs)

    def records(self) -> list[Record]:
        """Return the cart's history, oldest first."""
        return list(history.parse(self.creation, self.history, self.version))

    def totals(self) -> Totals | None:
        """Return the totals stored with the cart, or None if it has not been counted."""
        if self.item_count is None or self.option_count is None or self.subtotal is None:
            return None
        return Totals(self.item_count, self.option_count, self.subtotal)

    def set_totals(self, totals: Totals) -> None:
        """Set the cart's totals, without saving them."""
        self.item_count, self.option_count = totals.item_count, totals.option_count
        self.subtotal = totals.subtotal

    def clean_with(self, drafts: list[ItemDraft]) -> None:
        """Validate the cart together with the items that it is to have.

        Raises:
            ValidationError: errors by field, such as `note` or `items[0].options[1].price`.
        """
        errors = field_errors(self, exclude=())
        try:
            limits.validate_count(len(drafts), settings.MAX_ITEMS, "items in a cart")
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
        """Lock the cart and raise its version. See `CartManager.claim`."""
        type(self).objects.claim(self.pk, operation, **expected)
        self._refresh()

    def _refresh(self) -> None:
        self.refresh_from_db(
            fields=["version", "modified_on", "history", "item_count", "option_count", "subtotal"]
        )

    def add_item(self, *, version: int | None = None, **values: Any) -> CartItem:
        """Add an item with its `options` after the last one; see `CartManager.add_item`."""
        item_id = values.setdefault("id", uuid7())
        type(self).objects.add_item(self.pk, values, version=version)
        self._refresh()
        return self.items.get(pk=item_id)

    def replace_item(self, item_id: UUID, *, version: int | None = None, **values: Any) -> None:
        """Replace an item entirely. See `CartManager.replace_item`."""
        type(self).objects.replace_item(self.pk, item_id, values, version=version)
        self._refresh()

    def remove_item(self, item_id: UUID, *, version: int | None = None) -> None:
        """Remove an item; see `CartManager.remove_item`."""
        type(self).objects.remove_item(self.pk, item_id, version=version)
        self._refresh()
