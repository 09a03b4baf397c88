"""The columns that the specification's types become, with their validators."""

from decimal import Decimal
from typing import Any

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models

from carts import validators


class SavedAsItIs(models.Field):
    """A column that saves a value of its own type without converting it once more.

    Every row was checked before: what `clean_fields` or a serializer lets through has the
    type already. A value of another type takes the framework's way.
    """

    saved: type

    def get_db_prep_save(self, value: Any, connection: Any) -> Any:
        return value if type(value) is self.saved else super().get_db_prep_save(value, connection)

    def deconstruct(self) -> Any:
        # To migrations it is the framework's own.
        name, path, args, kwargs = super().deconstruct()
        return name, f"django.db.models.{path.rpartition('.')[2]}", args, kwargs


class CharField(SavedAsItIs, models.CharField):
    saved = str


class IntegerField(SavedAsItIs, models.IntegerField):
    saved = int


class BigIntegerField(SavedAsItIs, models.BigIntegerField):
    saved = int


class PositiveIntegerField(SavedAsItIs, models.PositiveIntegerField):
    saved = int


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
