"""The specification's types: model fields with validators, and the CHECK constraints behind them.

The constraints catch writes that pass no validator, such as `QuerySet.update` or plain SQL.
"""

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import CheckConstraint, F, Q
from django.db.models.functions import Length
from django.db.models.lookups import LessThanOrEqual

from carts import limits
from cartsvc.control_characters import LINE_BREAKERS, PARAGRAPH_BREAKERS


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
    """Return a code of ISO 4217."""
    return models.CharField(
        max_length=limits.MAX_LENGTHS["currency"], validators=[limits.validate_currency]
    )


def int32(lowest: int = limits.INT32_MIN, highest: int = limits.INT32_MAX) -> models.IntegerField:
    """Return the type int, within the given bounds."""
    # SQLite's columns take 64 bits, so their type alone does not enforce the bounds.
    return models.IntegerField(validators=[MinValueValidator(lowest), MaxValueValidator(highest)])


def price() -> models.DecimalField:
    """Return a price within its limits."""
    return models.DecimalField(
        max_digits=limits.PRICE_DIGITS,
        decimal_places=limits.PRICE_DECIMALS,
        validators=[
            MinValueValidator(limits.PRICE_MIN),
            MaxValueValidator(limits.PRICE_MAX),
        ],
    )


def line_check(model: str, column: str) -> CheckConstraint:
    """Return the check of a required line: length, not blank, no control characters."""
    return CheckConstraint(
        name=f"carts_{model}_{column}_line",
        condition=_printable(column, LINE_BREAKERS)
        & Q(**{f"{column}__regex": f"[^{limits.BLANKS}]"}),
    )


def paragraph_check(model: str, column: str) -> CheckConstraint:
    """Return the check of an optional text: length, no controls but tabs and line breaks."""
    return CheckConstraint(
        name=f"carts_{model}_{column}_paragraph",
        condition=Q(**{f"{column}__isnull": True}) | _printable(column, PARAGRAPH_BREAKERS),
    )


def _printable(column: str, breakers: str) -> Q:
    limit = limits.MAX_LENGTHS[column]
    return Q(LessThanOrEqual(Length(F(column)), limit)) & ~Q(
        **{f"{column}__regex": f"[{breakers}]"}
    )


def currency_check(model: str) -> CheckConstraint:
    """Return the check of a currency's form: three upper-case letters."""
    return CheckConstraint(
        name=f"carts_{model}_currency_code", condition=Q(currency__regex=r"^[A-Z]{3}\Z")
    )


def range_check(model: str, column: str, lowest: object, highest: object) -> CheckConstraint:
    """Return the check that a number is between two bounds, both included."""
    return CheckConstraint(
        name=f"carts_{model}_{column}_range",
        condition=Q(**{f"{column}__gte": lowest, f"{column}__lte": highest}),
    )


def int32_check(model: str, column: str) -> CheckConstraint:
    """Return the check of a 32-bit integer.

    Only SQLite needs it, because all its integers have 64 bits. An int64 needs no check.
    """
    return range_check(model, column, limits.INT32_MIN, limits.INT32_MAX)


def price_check(model: str) -> CheckConstraint:
    """Return the check that a price is within the limits of the validators."""
    return range_check(model, "price", limits.PRICE_MIN, limits.PRICE_MAX)
