"""Items and their options; what is about to become one is an `ItemDraft`."""

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

from carts import validators
from carts.models import fields
from carts.models.constraints import (
    currency_check,
    int32_check,
    line_check,
    paragraph_check,
    price_check,
    range_check,
)
from carts.models.contents import ITEM_COLUMNS, ITEM_SENT, OPTION_COLUMNS, OPTION_SENT, value
from carts.problems import CURRENCY_MISMATCH, ITEM_NOT_FOUND
from cartsvc.api.problems import Problem
from cartsvc.db.fields import PositiveIntegerField
from cartsvc.db.statements import Insert, Statement, parameters

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
    menu_key = fields.line("menu_key")
    menu_version = fields.int32()
    menu_item_key = fields.int64()
    display_name = fields.line("display_name")
    currency = fields.currency()
    price = fields.price()
    quantity = fields.int32(validators.QUANTITY_MIN, validators.QUANTITY_MAX)
    special_instructions = fields.paragraph("special_instructions")

    class Meta:
        ordering = ["position"]
        constraints = [
            UniqueConstraint(fields=["cart", "position"], name="carts_cartitem_cart_position"),
            line_check("cartitem", "menu_key"),
            int32_check("cartitem", "menu_version"),
            line_check("cartitem", "display_name"),
            currency_check("cartitem"),
            price_check("cartitem"),
            range_check("cartitem", "quantity", validators.QUANTITY_MIN, validators.QUANTITY_MAX),
            paragraph_check("cartitem", "special_instructions"),
        ]

    def __str__(self) -> str:
        return _label(self.quantity, self.display_name)

    def save(self, **kwargs: Any) -> None:
        """Save a changed item as the API would: validated, the cart claimed first.

        Raises:
            TypeError: the item is new; `cart.add_item` adds it.
            ValidationError: values that the specification does not allow.
            Refused: `item_not_found`, `cart_not_found`, `currency_mismatch`.
        """
        if self._state.adding:
            raise TypeError("A new item is added with cart.add_item(...).")
        self.clean_fields(exclude=["cart"])
        with transaction.atomic():
            self.lock()
            options = [option.values() for option in self.options.all()]
            draft = ItemDraft.of_item(self, options)
            self.cart.claim("Update Item", item_id=self.pk, draft=draft)
            self.overwrite()

    def validate_constraints(self, exclude: Collection[str] | None = None) -> None:
        """Send no constraint to the database: a validator stands in front of each."""

    def delete(self, *args: Any, **kwargs: Any) -> tuple[int, dict[str, int]]:
        """Remove the item as the API would; return what Django's `delete` returns."""
        return self.cart.remove_item(self.pk)

    def replace(self, *, version: int | None = None, **values: Any) -> None:
        """Replace the item entirely: what `values` does not name is not kept."""
        self.cart.replace_item(self.pk, version=version, **values)
        self.refresh_from_db()

    def remove(self, *, version: int | None = None) -> None:
        """Remove the item and its options; see `CartManager.remove_item`."""
        self.cart.remove_item(self.pk, version=version)

    @property
    def value(self) -> Decimal:
        """The price with its options' prices, times the quantity."""
        return value(self.price, self.quantity, (option.price for option in self.options.all()))

    def lock(self) -> None:
        """Keep others from changing the item's cart before the transaction ends."""
        type(self.cart).objects.lock(self.cart_id)

    def overwrite(self) -> None:
        """Write what is sent of an item over its row; the cart and the position stay.

        Raises:
            Refused: `item_not_found`, for a row that is gone is not brought back.
        """
        ItemDraft.of_item(self, ()).overwrite()


class CartItemOption(models.Model):
    """An option that the customer selected (specification: CartItemOption).

    Nothing outside names an option, so its key is its item and its position in it.
    """

    pk = models.CompositePrimaryKey("item_id", "position")
    item = models.ForeignKey(
        CartItem,
        on_delete=models.CASCADE,
        related_name="options",
        db_index=False,  # the primary key's index begins with it
    )
    position = PositiveIntegerField(editable=False)
    option_set_key = fields.int64()
    option_set_item_key = fields.int64()
    display_name = fields.line("display_name")
    currency = fields.currency()
    price = fields.price()

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
        """Return what is sent of an option."""
        return {name: getattr(self, name) for name in OPTION_SENT}

    def save(self, **kwargs: Any) -> None:
        """Save a changed option as the API would: validated, the cart claimed first."""
        if self._state.adding:
            raise TypeError("Options are chosen with item.replace(options=[...], ...).")
        self.clean_fields(exclude=["item"])
        with transaction.atomic():
            self._claim([self])
            super().save(force_update=True, **kwargs)

    def validate_constraints(self, exclude: Collection[str] | None = None) -> None:
        """Send no constraint to the database: a validator stands in front of each."""

    def delete(self, *args: Any, **kwargs: Any) -> tuple[int, dict[str, int]]:
        """Take the option off its item as the API would: the cart claimed first."""
        with transaction.atomic():
            self._claim([])
            return super().delete(*args, **kwargs)

    def _claim(self, instead: "list[CartItemOption]") -> None:
        """Claim the cart for the item with other options in this one's place."""
        self.item.lock()
        # What is saved counts, not what somebody may have changed of `self.item` since.
        item = CartItem.objects.filter(pk=self.item_id).first() or self.item
        options = [
            option.values()
            for kept in item.options.all()
            for option in (instead if kept.position == self.position else [kept])
        ]
        item.cart.claim("Update Item", item_id=item.pk, draft=ItemDraft.of_item(item, options))


@dataclass(slots=True)
class ItemDraft:
    """An item as it is about to be written, with the options that are chosen for it.

    The item's fields are in a mapping: a model's instance for each would take 8 % of the
    instructions of a request that creates 50 items.
    """

    values: dict[str, Any]
    options: Sequence[Values]

    @classmethod
    def of(cls, *, options: Iterable[Values] = (), **values: Any) -> Self:
        """Return the draft of an item with these `values` of its fields."""
        return cls({"id": uuid7(), "special_instructions": None, **values}, list(options))

    @classmethod
    def of_item(cls, item: CartItem, options: Sequence[Values]) -> Self:
        """Return the draft of an item as it is now, with other options."""
        return cls({name: getattr(item, name) for name in OVERWRITTEN}, options)

    def item(self) -> CartItem:
        """Return the item, as it is before it is written."""
        return CartItem(**self.values)

    def label(self) -> str:
        """Return the item and its options in a few words."""
        options = ", ".join(option["display_name"] for option in self.options)
        label = _label(self.values["quantity"], self.values["display_name"])
        return f"{label} ({options})" if options else label

    def clean(self) -> None:
        """Validate the item and its options.

        Raises:
            ValidationError: by field; the fields of an option as `options[0].price`.
        """
        item = self.item()
        errors = field_errors(item, exclude=("id", "cart", "position"))
        try:
            validators.validate_count(len(self.options), settings.MAX_OPTIONS, "options on an item")
        except ValidationError as error:
            errors["options"] = [error]
        rows = [CartItemOption(**option) for option in self.options]
        for position, row in enumerate(rows):
            found = field_errors(row, exclude=("item", "position"))
            errors |= {f"options[{position}].{name}": inner for name, inner in found.items()}
        if errors:
            raise ValidationError(errors)
        # As validating has left them: a price may have been sent as a float.
        self.values |= {name: getattr(item, name) for name in ITEM_SENT}
        self.options = [row.values() for row in rows]

    def has_two_currencies(self) -> bool:
        """Return whether an option is in another currency than the item."""
        return any(option["currency"] != self.values["currency"] for option in self.options)

    def currency_problems(self, currency: str, path: str = "") -> list[Problem]:
        """Return where the item, which is at `path`, is not in `currency`."""
        places = [path] if self.values["currency"] != currency else []
        places += [
            f"{path}options[{position}]."
            for position, option in enumerate(self.options)
            if option["currency"] != currency
        ]
        return [
            CURRENCY_MISMATCH.problem(field=f"{place}currency", currency=currency)
            for place in places
        ]

    def value(self) -> Decimal:
        """Return what the item costs with its options."""
        prices = (option["price"] for option in self.options)
        return value(self.values["price"], self.values["quantity"], prices)

    def overwrite(self) -> None:
        """Write the item over its row; see `CartItem.overwrite`."""
        if not _overwrite().run(**{name: self.values[name] for name in OVERWRITTEN}):
            ITEM_NOT_FOUND.refuse()

    def item_row(self) -> tuple[Any, ...]:
        """Return the item as `INSERT_ITEMS` takes it."""
        return tuple(map(self.values.get, INSERTED))

    def option_rows(self) -> list[tuple[Any, ...]]:
        """Return the options as `INSERT_OPTIONS` takes them."""
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
    """Return the DELETE of the options of the item `item_id`."""
    return Statement.delete(
        CartItemOption.objects.filter(**parameters(CartItemOption, ["item_id"]))
    )


def field_errors(instance: models.Model, *, exclude: Iterable[str]) -> dict[str, Any]:
    try:
        instance.clean_fields(exclude=set(exclude))
    except ValidationError as error:
        return dict(error.error_dict)
    return {}
