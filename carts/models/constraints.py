"""The CHECK constraints behind the types of `columns`.

They catch writes that pass no validator, such as `QuerySet.update` or plain SQL.
"""

from django.db.models import CheckConstraint, F, Q
from django.db.models.functions import Length
from django.db.models.lookups import LessThanOrEqual

from carts import limits
from cartsvc.control_characters import LINE_BREAKERS, PARAGRAPH_BREAKERS


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
