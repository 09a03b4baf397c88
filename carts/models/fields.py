"""The columns that the specification's types become, with their validators."""

from decimal import Decimal
from typing import Any

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models

from carts import validators
from cartsvc.db.fields import BigIntegerField, CharField, IntegerField


class PriceField(models.DecimalField):
    """An exact price; a float's noise is taken off, real decimals are refused."""

    def to_python(self, value: Any) -> Any:
        if isinstance(value, float):
            return validators.exact_price(value)
        return super().to_python(value)

    def get_db_prep_save(self, value: Any, connection: Any) -> Any:
        if type(value) is not Decimal:
            return super().get_db_prep_save(value, connection)
        return connection.ops.adapt_decimalfield_value(value, self.max_digits, self.decimal_places)

    def deconstruct(self) -> Any:
        # To migrations it is the framework's own.
        name, _path, args, kwargs = super().deconstruct()
        return name, "django.db.models.DecimalField", args, kwargs


def line(name: str) -> CharField:
    """A required text of one line, as long as the specification lets `name` be."""
    return CharField(
        max_length=validators.MAX_LENGTHS[name],
        validators=[validators.validate_not_blank, validators.PrintableText()],
    )


def paragraph(name: str) -> CharField:
    """An optional text; null is "not sent", which is not the same as sent empty."""
    return CharField(
        max_length=validators.MAX_LENGTHS[name],
        null=True,
        blank=True,
        validators=[validators.PrintableText(multiline=True)],
    )


def currency() -> CharField:
    return CharField(
        max_length=validators.MAX_LENGTHS["currency"], validators=[validators.validate_currency]
    )


def int32(lowest: int = validators.INT32_MIN, highest: int = validators.INT32_MAX) -> IntegerField:
    # SQLite would take 64 bits, so the bounds are not left to the column's type.
    return IntegerField(validators=[MinValueValidator(lowest), MaxValueValidator(highest)])


def int64() -> BigIntegerField:
    return BigIntegerField(
        validators=[
            MinValueValidator(validators.INT64_MIN),
            MaxValueValidator(validators.INT64_MAX),
        ]
    )


def price() -> PriceField:
    return PriceField(
        max_digits=validators.PRICE_DIGITS,
        decimal_places=validators.PRICE_DECIMALS,
        validators=[
            MinValueValidator(validators.PRICE_MIN),
            MaxValueValidator(validators.PRICE_MAX),
        ],
    )
