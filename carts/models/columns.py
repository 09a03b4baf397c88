"""The specification's types as model fields. Their CHECK constraints are in `constraints`."""

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models

from carts import limits


def line(name: str) -> models.CharField:
    """Return a required text of one line, limited as the specification's table limits `name`."""
    return models.CharField(max_length=limits.MAX_LENGTHS[name], validators=[limits.validate_line])


def paragraph(name: str) -> models.CharField:
    """Return an optional text of several lines. Null means "not sent", which is not empty."""
    return models.CharField(
        max_length=limits.MAX_LENGTHS[name],
        null=True,
        blank=True,
        validators=[limits.validate_paragraph],
    )


def currency() -> models.CharField:
    return models.CharField(
        max_length=limits.MAX_LENGTHS["currency"], validators=[limits.validate_currency]
    )


def int32(lowest: int = limits.INT32_MIN, highest: int = limits.INT32_MAX) -> models.IntegerField:
    # SQLite's columns take 64 bits, so their type alone does not enforce the bounds.
    return models.IntegerField(validators=[MinValueValidator(lowest), MaxValueValidator(highest)])


def price() -> models.DecimalField:
    return models.DecimalField(
        max_digits=limits.PRICE_DIGITS,
        decimal_places=limits.PRICE_DECIMALS,
        validators=[MinValueValidator(limits.PRICE_MIN), MaxValueValidator(limits.PRICE_MAX)],
    )
