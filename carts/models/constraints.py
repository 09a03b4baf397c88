"""Named CHECK constraints: the same limits as the validators, in the database itself.

They are the backstop for what passes no validator, such as `QuerySet.update` or SQL.
"""

from django.db.models import CheckConstraint, F, Q
from django.db.models.functions import Length
from django.db.models.lookups import LessThanOrEqual

from carts import validators
from cartsvc.api import texts


def line_check(model: str, column: str) -> CheckConstraint:
    """One line of at most n characters, none of them a control, not all of them blank."""
    return CheckConstraint(
        name=f"carts_{model}_{column}_line",
        condition=_printable(column, texts.LINE_BREAKERS)
        & Q(**{f"{column}__regex": f"[^{validators.BLANKS}]"}),
    )


def paragraph_check(model: str, column: str) -> CheckConstraint:
    """Nothing, or at most n characters, none of them a control but tabs and line breaks."""
    return CheckConstraint(
        name=f"carts_{model}_{column}_paragraph",
        condition=Q(**{f"{column}__isnull": True}) | _printable(column, texts.PARAGRAPH_BREAKERS),
    )


def _printable(column: str, breakers: str) -> Q:
    limit = validators.MAX_LENGTHS[column]
    return Q(LessThanOrEqual(Length(F(column)), limit)) & ~Q(
        **{f"{column}__regex": f"[{breakers}]"}
    )


def currency_check(model: str) -> CheckConstraint:
    return CheckConstraint(
        name=f"carts_{model}_currency_code", condition=Q(currency__regex=r"^[A-Z]{3}\Z")
    )


def range_check(model: str, column: str, lowest: object, highest: object) -> CheckConstraint:
    return CheckConstraint(
        name=f"carts_{model}_{column}_range",
        condition=Q(**{f"{column}__gte": lowest, f"{column}__lte": highest}),
    )


def int32_check(model: str, column: str) -> CheckConstraint:
    """Needed on SQLite alone, whose integers all have 64 bits; so int64 needs none."""
    return range_check(model, column, validators.INT32_MIN, validators.INT32_MAX)


def price_check(model: str) -> CheckConstraint:
    return range_check(model, "price", validators.PRICE_MIN, validators.PRICE_MAX)
