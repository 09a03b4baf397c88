"""An item with its options as plain values: as it is, or as it is about to be."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Self
from uuid import UUID

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import models
from uuid_utils.compat import uuid7

from carts.cart_errors import CurrencyMismatch, TooMany
from carts.models.item import ITEM_FIELDS, OPTION_FIELDS, CartItem, CartItemOption

Values = Mapping[str, Any]
Path = tuple[str | int, ...]


@dataclass(slots=True)
class ItemDraft:
    """An item outside of the database. Its `values` are in a mapping: an instance costs more."""

    values: dict[str, Any]
    options: Sequence[Values] = ()
    id: UUID = field(default_factory=uuid7)
    position: int = 0

    @classmethod
    def of(cls, values: Values, position: int = 0) -> Self:
        """Return the draft of an item with these field values, `options` and perhaps `id`."""
        rest = {"special_instructions": None, **values}
        return cls(
            options=list(rest.pop("options", None) or ()),
            id=rest.pop("id", None) or uuid7(),
            position=position,
            values=rest,
        )

    @property
    def value(self) -> Decimal:
        """The sum of the price and the options' prices, times the quantity."""
        prices = (option["price"] for option in self.options)
        return (self.values["price"] + sum(prices)) * self.values["quantity"]

    @property
    def sent(self) -> dict[str, Any]:
        """The values with the options: what a caller sends."""
        return {**self.values, "options": self.options}

    @property
    def whole(self) -> dict[str, Any]:
        """What the history holds of an item that came or went."""
        return {"position": self.position, **self.sent}

    def errors(self, at: str = "") -> dict[str, Any]:
        """Validate the item and its options. Return the errors by field, with `at` before it."""
        item = CartItem(**self.values)
        options = [CartItemOption(**option) for option in self.options]
        errors = field_errors(item, at)
        if len(options) > settings.MAX_OPTIONS:
            plural = "options on an item"
            errors[f"{at}options"] = TooMany(limit=settings.MAX_OPTIONS, plural=plural)
        for position, option in enumerate(options):
            errors |= field_errors(option, f"{at}options[{position}].")
        if not errors:
            # Validating may have converted a value, such as a price that came as a text.
            self.values = {name: getattr(item, name) for name in ITEM_FIELDS}
            self.options = [{name: getattr(row, name) for name in OPTION_FIELDS} for row in options]
        return errors

    def currency_mismatches(self, currency: str, path: Path = ()) -> Iterator[CurrencyMismatch]:
        """Yield an error for the item and for each option that is not in `currency`.

        `path` leads to the item in what the caller has sent.
        """
        if self.values["currency"] != currency:
            yield CurrencyMismatch(currency=currency, field=(*path, "currency"))
        for position, option in enumerate(self.options):
            if option["currency"] != currency:
                place = (*path, "options", position, "currency")
                yield CurrencyMismatch(currency=currency, field=place)

    def row(self, cart: Any) -> tuple[Any, ...]:
        keys = self.id, cart.id, cart.profile_key
        return *keys, self.position, *map(self.values.get, ITEM_FIELDS), self.value

    def option_rows(self, profile_key: UUID) -> Iterable[tuple[Any, ...]]:
        return [
            (self.id, profile_key, position, *map(option.get, OPTION_FIELDS))
            for position, option in enumerate(self.options)
        ]


def field_errors(instance: models.Model, at: str = "") -> dict[str, Any]:
    """Return the errors of `clean_fields`, of the fields that a caller sends."""
    for name, value in vars(instance).items():
        # Django cuts 5.7, takes True for 1 and refuses 10.1. It reads their texts exactly.
        match value:
            case bool():
                setattr(instance, name, str(value))
            case float():
                setattr(instance, name, f"{value:.15g}")  # a double's noise comes after that
            case Decimal():
                setattr(instance, name, f"{value.normalize():f}")
    others = {field.name for field in instance._meta.fields if not field.editable}
    try:
        instance.clean_fields(exclude=others)
    except ValidationError as error:
        return {f"{at}{name}": errors for name, errors in error.error_dict.items()}
    return {}


def refuse(errors: dict[str, Any]) -> None:
    """Raise the errors, if any, by field, such as `note` or `items[0].options[1].price`."""
    if errors:
        raise ValidationError(errors)
