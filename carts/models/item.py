"""Items and their options. An `ItemDraft` is an item that is about to be written."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from typing import Any, Self

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import models, transaction
from django.db.models import UniqueConstraint
from uuid_utils.compat import uuid7

from carts import limits
from carts.errors import CurrencyMismatch, ItemNotFound
from carts.models import columns
from carts.models.constraints import (
    currency_check,
    int32_check,
    line_check,
    paragraph_check,
    price_check,
    range_check,
)
from carts.models.contents import ITEM_COLUMNS, ITEM_SENT, OPTION_COLUMNS, OPTION_SENT, value
from cartsvc.db.fields import PositiveIntegerField
from cartsvc.db.statements import Insert, Statement, parameters
from cartsvc.errors import Refusal

Values = Mapping[str, Any]


class CartItem(models.Model):
    """An item of a cart (specification: CartItem), at its `position` in the cart."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    cart = models.ForeignKey(
        "carts.Cart",
        on_delete=models.CASCADE,
        related_name="items",
        db_index=False,  # the unique constraint's index begins with it
    )
    position = PositiveIntegerField(editable=False)
    menu_key = columns.line("menu_key")
    menu_version = columns.int32()
    menu_item_key = columns.int64()
    display_name = columns.line("display_name")
    currency = columns.currency()
    price = columns.price()
    quantity = columns.int32(limits.QUANTITY_MIN, limits.QUANTITY_MAX)
    special_instructions = columns.paragraph("special_instructions")

    class Meta:
        ordering = ["position"]
        constraints = [
            UniqueConstraint(fields=["cart", "position"], name="carts_cartitem_cart_position"),
            line_check("cartitem", "menu_key"),
            int32_check("cartitem", "menu_version"),
            line_check("cartitem", "display_name"),
            currency_check("cartitem"),
            price_check("cartitem"),
            range_check("cartitem", "quantity", limits.QUANTITY_MIN, limits.QUANTITY_MAX),
            paragraph_check("cartitem", "special_instructions"),
        ]

    def __str__(self) -> str:
        return _label(self.quantity, self.display_name)

    def save(self, **kwargs: Any) -> None:
        """Save a changed item with the guarantees of the API: validated, with the cart claimed.

        Raises:
            TypeError: the item is new. Use `cart.add_item`.
            ValidationError: values that the specification does not allow.
            Refusal: `item_not_found`, `cart_not_found`, `currency_mismatch`.
        """
        if self._state.adding:
            raise TypeError("A new item is added with cart.add_item(...).")
        self.clean_fields(exclude=["cart"])
        with transaction.atomic():
            self.lock()
            options = [option.values() for option in self.options.all()]
            draft = ItemDraft.of_item(self, options)
            self.cart.claim("Update Item", item_id=self.pk, draft=draft)
            draft.overwrite()

    def validate_constraints(self, exclude: Collection[str] | None = None) -> None:
        """Do nothing: validators have checked all of it, and Django would send queries."""

    def delete(self, *args: Any, **kwargs: Any) -> tuple[int, dict[str, int]]:
        """Remove the item as the API would; return what Django's `delete` returns."""
        gone = {"carts.CartItem": 1, "carts.CartItemOption": self.options.count()}
        self.remove()
        return sum(gone.values()), {name: count for name, count in gone.items() if count}

    def replace(self, *, version: int | None = None, **values: Any) -> None:
        """Replace the item entirely. Fields that `values` does not name are not kept."""
        self.cart.replace_item(self.pk, version=version, **values)
        self.refresh_from_db()

    def remove(self, *, version: int | None = None) -> None:
        """Remove the item and its options. See `CartManager.remove_item`."""
        self.cart.remove_item(self.pk, version=version)

    @property
    def value(self) -> Decimal:
        """The sum of the price and the options' prices, times the quantity."""
        return value(self.price, self.quantity, (option.price for option in self.options.all()))

    def lock(self) -> None:
        """Lock the item's cart until the transaction ends."""
        type(self.cart).objects.lock(self.cart_id)


class CartItemOption(models.Model):
    """An option that the customer selected (specification: CartItemOption).

    No caller refers to an option, so its key is its item and its position in the item.
    """

    pk = models.CompositePrimaryKey("item_id", "position")
    item = models.ForeignKey(
        CartItem,
        on_delete=models.CASCADE,
        related_name="options",
        db_index=False,  # the primary key's index begins with it
    )
    position = PositiveIntegerField(editable=False)
    option_set_key = columns.int64()
    option_set_item_key = columns.int64()
    display_name = columns.line("display_name")
    currency = columns.currency()
    price = columns.price()

    class Meta:
        ordering = ["position"]
        constraints = [
            line_check("cartitemoption", "display_name"),
            currency_check("cartitemoption"),
            price_check("cartitemoption"),
        ]

    def __str__(self) -> str:
        return self.display_name

    def values(self) -> Values:
        """Return the fields of the option that a caller sends, by name."""
        return {name: getattr(self, name) for name in OPTION_SENT}

    def save(self, **kwargs: Any) -> None:
        """Save a changed option with the guarantees of the API: validated, with the cart claimed.

        Raises:
            TypeError: the option is new. Use `item.replace(options=[...], ...)`.
            ValidationError: values that the specification does not allow.
            Refusal: `item_not_found`, `cart_not_found`, `currency_mismatch`.
        """
        if self._state.adding:
            raise TypeError("Options are chosen with item.replace(options=[...], ...).")
        self.clean_fields(exclude=["item"])
        with transaction.atomic():
            self._claim([self])
            super().save(force_update=True, **kwargs)

    def validate_constraints(self, exclude: Collection[str] | None = None) -> None:
        """Do nothing: validators have checked all of it, and Django would send queries."""

    def delete(self, *args: Any, **kwargs: Any) -> tuple[int, dict[str, int]]:
        """Remove the option from its item with the guarantees of the API.

        Raises:
            Refusal: `item_not_found`, `cart_not_found`.
        """
        with transaction.atomic():
            self._claim([])
            return super().delete(*args, **kwargs)

    def _claim(self, instead: "list[CartItemOption]") -> None:
        """Claim the cart for a change of the item: `instead` takes this option's place."""
        self.item.lock()
        # Start from the stored item, because `self.item` may hold unsaved changes.
        found = CartItem.objects.filter(pk=self.item_id).first()
        item = found or self.item
        stored = item.options.all()
        if found and all(kept.position != self.position for kept in stored):
            raise ItemNotFound("The item has no such option any more.")
        options = [
            option.values()
            for kept in stored
            for option in (instead if kept.position == self.position else [kept])
        ]
        item.cart.claim("Update Item", item_id=item.pk, draft=ItemDraft.of_item(item, options))


@dataclass(slots=True)
class ItemDraft:
    """An item that is about to be written, with its options.

    The item's fields are in a mapping. A model instance for each item would take 8 % of the
    instructions of a request that creates 50 items.
    """

    values: dict[str, Any]
    options: Sequence[Values]

    @classmethod
    def of(cls, *, options: Iterable[Values] = (), **values: Any) -> Self:
        """Return the draft of an item with these field `values` and `options`."""
        return cls({"id": uuid7(), "special_instructions": None, **values}, list(options))

    @classmethod
    def of_item(cls, item: CartItem, options: Sequence[Values]) -> Self:
        """Return the draft of an item as it is now, with these `options`."""
        return cls({name: getattr(item, name) for name in OVERWRITTEN}, options)

    def item(self) -> CartItem:
        """Return the item as an unsaved instance."""
        return CartItem(**self.values)

    def label(self) -> str:
        """Return the item and its options in a few words, for the history."""
        options = ", ".join(option["display_name"] for option in self.options)
        label = _label(self.values["quantity"], self.values["display_name"])
        return f"{label} ({options})" if options else label

    def clean(self) -> None:
        """Validate the item and its options.

        Raises:
            ValidationError: errors by field, such as `quantity` or `options[0].price`.
        """
        item = self.item()
        errors = field_errors(item, exclude=("id", "cart", "position"))
        try:
            limits.validate_count(len(self.options), settings.MAX_OPTIONS, "options on an item")
        except ValidationError as error:
            errors["options"] = [error]
        rows = [CartItemOption(**option) for option in self.options]
        for position, row in enumerate(rows):
            found = field_errors(row, exclude=("item", "position"))
            errors |= {f"options[{position}].{name}": inner for name, inner in found.items()}
        if errors:
            raise ValidationError(errors)
        # Validating may have converted a value, such as a price that came as a float.
        self.values |= {name: getattr(item, name) for name in ITEM_SENT}
        self.options = [row.values() for row in rows]

    def has_two_currencies(self) -> bool:
        """Return whether an option has another currency than the item."""
        return any(option["currency"] != self.values["currency"] for option in self.options)

    def currency_problems(self, currency: str, path: str = "") -> list[Refusal]:
        """Return a problem for each part of the item that is not in `currency`.

        `path` is the prefix of the fields' names, such as `items[0].`.
        """
        places = [path] if self.values["currency"] != currency else []
        places += [
            f"{path}options[{position}]."
            for position, option in enumerate(self.options)
            if option["currency"] != currency
        ]
        return [CurrencyMismatch(field=f"{place}currency", currency=currency) for place in places]

    def value(self) -> Decimal:
        """Return what the item costs, options included."""
        prices = (option["price"] for option in self.options)
        return value(self.values["price"], self.values["quantity"], prices)

    def overwrite(self) -> None:
        """Update the item's row with the fields that a caller sends. The position stays.

        Raises:
            Refusal: `item_not_found`. A row that was deleted is not created again.
        """
        if not _overwrite().run(**{name: self.values[name] for name in OVERWRITTEN}):
            raise ItemNotFound

    def item_row(self) -> tuple[Any, ...]:
        """Return the item as a row for `INSERT_ITEMS`."""
        return tuple(map(self.values.get, INSERTED))

    def option_rows(self) -> list[tuple[Any, ...]]:
        """Return the options as rows for `INSERT_OPTIONS`."""
        return [
            (self.values["id"], position, *map(option.get, OPTION_SENT))
            for position, option in enumerate(self.options)
        ]


INSERTED = ("cart_id", *ITEM_COLUMNS)
OVERWRITTEN = ("id", "cart_id", *ITEM_SENT)
INSERT_ITEMS = Insert(CartItem, INSERTED)
INSERT_OPTIONS = Insert(CartItemOption, ["item_id", *OPTION_COLUMNS])


def _label(quantity: int, display_name: str) -> str:
    return f"{quantity} × {display_name}"


@cache
def _overwrite() -> Statement:
    item = CartItem.objects.filter(**parameters(CartItem, ["id", "cart_id"]))
    return Statement.update(item, parameters(CartItem, ITEM_SENT))


@cache
def remove_options() -> Statement:
    """Return the DELETE of an item's options. Its parameter is `item_id`."""
    return Statement.delete(
        CartItemOption.objects.filter(**parameters(CartItemOption, ["item_id"]))
    )


def field_errors(instance: models.Model, *, exclude: Iterable[str]) -> dict[str, Any]:
    """Return the errors of `clean_fields`, by field."""
    try:
        instance.clean_fields(exclude=set(exclude))
    except ValidationError as error:
        return dict(error.error_dict)
    return {}
