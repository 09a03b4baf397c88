from collections.abc import Iterable, Sequence
from typing import Any, Never, Self
from uuid import UUID

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import models, transaction
from django.db.models import Count, F, Max
from django.utils import timezone
from uuid_utils.compat import uuid7

from carts import validators
from carts.models import columns, contents, history
from carts.models.constraints import currency_check, int32_check, line_check, paragraph_check
from carts.models.history import Author, Record
from carts.models.item import NO_SUCH_ITEM, CartItem, CartItemOption, Values, field_errors
from cartsvc.envelope import Refused, refuse

NO_SUCH_CART = "This profile has no such cart."

NEXT_VERSION = F("version") + 1


class CartQuerySet(models.QuerySet["Cart"]):
    """The reads and the writes. A filtered queryset reads and writes its own carts only."""

    author: Author | None = None

    def by(self, author: Author) -> Self:
        """Write in the name of `author`: who the carts' history says it was."""
        carts = self.all()
        carts.author = author
        return carts

    def _clone(self) -> Self:
        carts = super()._clone()  # type: ignore[misc]
        carts.author = self.author
        return carts

    def _record(self, operation: str, item_id: UUID | None = None, label: str = "") -> Record:
        return Record(timezone.now(), self.author or Author.shell(), operation, item_id, label)

    def create_with_items(
        self, *, items: Iterable[Values] = (), validate: bool = True, **values: Any
    ) -> "Cart":
        """Create a cart with its items and their options (specification: Create Cart).

        `values` and the mappings in `items` (and in their `options`) have the names of
        the model fields. `validate=False` is for values that a serializer has checked.

        Raises:
            ValidationError: values that the specification does not allow.
            Refused: `currency_mismatch`.
        """
        record = self._record("Create Cart")
        cart = self.model(
            created_on=record.at, modified_on=record.at, history=record.line(), **values
        )
        rows = [
            CartItem.build(cart_id=cart.id, position=position, **item)
            for position, item in enumerate(items)
        ]
        if validate:
            cart.clean_with(rows)
        mismatches = [
            problem
            for position, row in enumerate(rows)
            for problem in row.currency_problems(cart.currency, f"/items/{position}")
        ]
        if mismatches:
            raise Refused(*mismatches)
        with transaction.atomic(using=self.db):
            self.bulk_create([cart])
            _insert(rows)
        return cart

    def add_item(
        self,
        cart_id: UUID,
        values: Values,
        *,
        version: int | None = None,
        validate: bool = True,
    ) -> CartItem:
        """Add an item behind the cart's last one.

        Raises:
            ValidationError: values that the specification does not allow.
            Refused: `cart_not_found`, `version_mismatch`, `currency_mismatch`, `too_many`.
        """
        item = CartItem.build(cart_id=cart_id, **values)
        if validate:
            item.clean_with_options()
        with transaction.atomic(using=self.db):
            self.claim(cart_id, "Add Item", version=version, item=item)
            last = CartItem.objects.filter(cart_id=cart_id).aggregate(
                count=Count("pk"), position=Max("position", default=-1)
            )
            if last["count"] >= settings.MAX_ITEMS:
                refuse("too_many", f"The cart holds {settings.MAX_ITEMS} items already.", "")
            item.position = last["position"] + 1
            _insert([item])
        return item

    def replace_item(
        self,
        cart_id: UUID,
        item_id: UUID,
        values: Values,
        *,
        version: int | None = None,
        validate: bool = True,
    ) -> None:
        """Replace an item entirely, options included (specification: Update Item).

        What `values` does not name is not kept; the item's id and position are.

        Raises:
            ValidationError: values that the specification does not allow.
            Refused: `cart_not_found`, `item_not_found`, `version_mismatch`,
                `currency_mismatch`.
        """
        item = CartItem.build(id=item_id, cart_id=cart_id, **values)
        if validate:
            item.clean_with_options()
        with transaction.atomic(using=self.db):
            self.claim(cart_id, "Update Item", version=version, item_id=item_id, item=item)
            item.overwrite()
            CartItemOption.objects.filter(item_id=item_id).delete()
            CartItemOption.objects.bulk_create(item.chosen)

    def remove_item(self, cart_id: UUID, item_id: UUID, *, version: int | None = None) -> None:
        """Remove an item and its options.

        Raises:
            Refused: `cart_not_found`, `item_not_found`, `version_mismatch`.
        """
        with transaction.atomic(using=self.db):
            item = CartItem.objects.filter(pk=item_id, cart_id=cart_id).first()
            self.claim(
                cart_id,
                "Remove Item",
                version=version,
                item_id=item_id,
                label=str(item or ""),
            )
            removed, _ = CartItem.objects.filter(pk=item_id, cart_id=cart_id).delete()
            if not removed:
                refuse("item_not_found", NO_SUCH_ITEM)

    def claim(
        self,
        cart_id: UUID,
        operation: str,
        *,
        version: int | None = None,
        item_id: UUID | None = None,
        item: CartItem | None = None,
        label: str = "",
    ) -> None:
        """Lock the cart, check it, raise its version and record why: how a change begins.

        One guarded UPDATE; only when it changes no row does a second query find out why.
        `version` is the one that the caller expects, `item_id` the item that is about to
        change, and `item` what it is about to become.

        Raises:
            Refused: `cart_not_found`, `item_not_found`, `version_mismatch`,
                `currency_mismatch`.
        """
        expected: dict[str, Any] = {"pk": cart_id}
        if version is not None:
            expected["version"] = version
        currencies: set[str] = set()
        if item is not None:
            currencies = {item.currency, *(option.currency for option in item.chosen)}
            expected["currency"] = currencies.pop()
            label = item.label()
        guard = self.filter(**expected)
        # An item of two currencies has one that is not the cart's.
        for currency in currencies:
            guard = guard.filter(currency=currency)
        record = self._record(operation, item.id if item else item_id, label)
        if not guard.update(
            version=NEXT_VERSION, modified_on=record.at, history=history.appended(record)
        ):
            self._refuse_claim(cart_id, version, item_id, item)

    def _refuse_claim(
        self, cart_id: UUID, version: int | None, item_id: UUID | None, item: CartItem | None
    ) -> Never:
        cart = self.filter(pk=cart_id).only("version", "currency").first()
        if cart is None:
            refuse("cart_not_found", NO_SUCH_CART)
        if item_id and not CartItem.objects.filter(pk=item_id, cart_id=cart_id).exists():
            refuse("item_not_found", NO_SUCH_ITEM)
        mismatches = item.currency_problems(cart.currency) if item else []
        if not mismatches or version not in (None, cart.version):
            refuse(
                "version_mismatch",
                f"The cart has moved on: its version is now {cart.version}.",
                "If-Match",
            )
        raise Refused(*mismatches)

    def with_contents(self) -> Self:
        """Read the items and their options along, in the same statement, but no history."""
        return self._with_items(contents.ITEM_COLUMNS, contents.OPTION_COLUMNS)

    def with_amounts(self) -> Self:
        """Read along only what the number of items and the subtotal take."""
        return self._with_items(contents.ITEM_AMOUNTS, contents.OPTION_AMOUNTS)

    def _with_items(self, item_columns: Sequence[str], option_columns: Sequence[str]) -> Self:
        return self.defer("history").annotate(
            item_rows=contents.items_of(CartItem, CartItemOption, item_columns, option_columns)
        )


def _insert(items: list[CartItem]) -> None:
    CartItem.objects.bulk_create(items)
    CartItemOption.objects.bulk_create([option for item in items for option in item.chosen])


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
    version = models.PositiveIntegerField(default=1, editable=False)
    created_on = models.DateTimeField(default=timezone.now, editable=False)
    modified_on = models.DateTimeField(editable=False)
    history = models.TextField(editable=False)

    # What `with_contents` and `with_amounts` read along.
    item_rows: list[list[Any]] | None

    objects = CartQuerySet.as_manager()

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

    def save(self, *, using: str | None = None, **kwargs: Any) -> None:
        """Save a changed cart as the API would: validated, claimed, never brought back."""
        if self._state.adding:
            raise TypeError("A new cart is made with Cart.objects.create_with_items(...).")
        self.clean_fields()
        with transaction.atomic(using=using):
            self.claim("Update Cart")
            if self.items.exclude(currency=self.currency).exists():
                raise ValidationError({"currency": "The cart's items are in another currency."})
            super().save(force_update=True, using=using, **kwargs)

    def delete(self, *args: Any, **kwargs: Any) -> Any:
        with transaction.atomic():
            self.claim("Delete Cart")
            return super().delete(*args, **kwargs)

    def records(self) -> list[Record]:
        """Return what happened to the cart, oldest first."""
        return list(history.parse(self.history))

    def clean_with(self, items: list[CartItem]) -> None:
        """Validate the cart with its unsaved items.

        Raises:
            ValidationError: by field; those of an item as `items[0].options[1].price`.
        """
        errors = field_errors(self, exclude=())
        try:
            validators.validate_count(len(items), settings.MAX_ITEMS, "items in a cart")
        except ValidationError as error:
            errors["items"] = [error]
        for position, item in enumerate(items):
            path = f"items[{position}]"
            try:
                item.clean_with_options()
            except ValidationError as error:
                errors |= {f"{path}.{name}": inner for name, inner in error.error_dict.items()}
        if errors:
            raise ValidationError(errors)

    def claim(self, operation: str, **expected: Any) -> None:
        """Lock the cart and raise its version; see `CartQuerySet.claim`."""
        type(self).objects.claim(self.pk, operation, **expected)
        self._refresh()

    def _refresh(self) -> None:
        self.refresh_from_db(fields=["version", "modified_on", "history"])

    def add_item(self, *, version: int | None = None, **values: Any) -> CartItem:
        """Add an item with its `options` behind the last one; see `CartQuerySet.add_item`."""
        item = type(self).objects.add_item(self.pk, values, version=version)
        self._refresh()
        return item

    def replace_item(self, item_id: UUID, *, version: int | None = None, **values: Any) -> None:
        """Replace an item entirely; see `CartQuerySet.replace_item`."""
        type(self).objects.replace_item(self.pk, item_id, values, version=version)
        self._refresh()

    def remove_item(self, item_id: UUID, *, version: int | None = None) -> None:
        """Remove an item; see `CartQuerySet.remove_item`."""
        type(self).objects.remove_item(self.pk, item_id, version=version)
        self._refresh()
