"""The model fields for the specification's types, with their validators."""

from decimal import Decimal
from typing import Any

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models

from carts import limits
from cartsvc.db.fields import (
    BigIntegerField,
    CharField,
    DecimalFormField,
    IntegerField,
    PlainNumber,
)


class PriceField(PlainNumber, models.DecimalField):
    """An exact price.

    The noise of a float is removed. A float that really has too many decimals is refused.
    """

    def to_python(self, value: Any) -> Any:
        if isinstance(value, float):
            return limits.exact_price(value)
        return super().to_python(value)

    def formfield(self, **kwargs: Any) -> Any:
        return super().formfield(**{"form_class": DecimalFormField, **kwargs})

    def get_db_prep_save(self, value: Any, connection: Any) -> Any:
        if type(value) is not Decimal:
            return super().get_db_prep_save(value, connection)
        return connection.ops.adapt_decimalfield_value(value, self.max_digits, self.decimal_places)

    def deconstruct(self) -> Any:
        # Migrations see the framework's field, because the column is the same.
        name, _path, args, kwargs = super().deconstruct()
        return name, "django.db.models.DecimalField", args, kwargs


def line(name: str) -> CharField:
    """Return a required text of one line, limited as the specification's table limits `name`."""
    return CharField(
        max_length=limits.MAX_LENGTHS[name],
        validators=[limits.validate_not_blank, limits.PrintableText()],
    )


def paragraph(name: str) -> CharField:
    """Return an optional text of several lines. Null means "not sent", which is not empty."""
    return CharField(
        max_length=limits.MAX_LENGTHS[name],
        null=True,
        blank=True,
        validators=[limits.PrintableText(multiline=True)],
    )


def currency() -> CharField:
    """Return a code of ISO 4217."""
    return CharField(
        max_length=limits.MAX_LENGTHS["currency"], validators=[limits.validate_currency]
    )


def int32(lowest: int = limits.INT32_MIN, highest: int = limits.INT32_MAX) -> IntegerField:
    """Return the type int, within the given bounds."""
    # SQLite's columns take 64 bits, so their type alone does not enforce the bounds.
    return IntegerField(validators=[MinValueValidator(lowest), MaxValueValidator(highest)])


def int64() -> BigIntegerField:
    """Return the type int64."""
    return BigIntegerField(
        validators=[
            MinValueValidator(limits.INT64_MIN),
            MaxValueValidator(limits.INT64_MAX),
        ]
    )


def price() -> PriceField:
    """Return a price within its limits."""
    return PriceField(
        max_digits=limits.PRICE_DIGITS,
        decimal_places=limits.PRICE_DECIMALS,
        validators=[
            MinValueValidator(limits.PRICE_MIN),
            MaxValueValidator(limits.PRICE_MAX),
        ],
    )
