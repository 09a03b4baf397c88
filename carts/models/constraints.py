"""The CHECK constraints behind the types of `columns`.

They catch writes that pass no validator, such as `QuerySet.update` or plain SQL.
"""

from django.db.models import CheckConstraint, F, Q
from django.db.models.functions import Length
from django.db.models.lookups import LessThanOrEqual

from carts import limits
from cartsvc.control_characters import LINE_BREAKERS, PARAGRAPH_BREAKERS


def line_checks(model: str, *columns: str) -> list[CheckConstraint]:
    """Return the checks of required lines: length, not blank, no control characters."""
    return [
        CheckConstraint(
            name=f"carts_{model}_{column}_line",
            condition=_printable(column, LINE_BREAKERS)
            & Q(**{f"{column}__regex": f"[^{limits.BLANKS}]"}),
        )
        for column in columns
    ]


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
    """Return the check that a number is between two bounds, both included.

    A 32-bit integer needs it on SQLite, where all integers have 64 bits.
    """
    return CheckConstraint(
        name=f"carts_{model}_{column}_range",
        condition=Q(**{f"{column}__gte": lowest, f"{column}__lte": highest}),
    )
