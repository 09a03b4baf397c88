"""The specification's types as columns, with the CHECK constraints behind them.

The constraints catch writes that pass no check of `carts.value_types`, such as plain SQL.
"""

from collections.abc import Iterable
from typing import Any

from django.db import models
from django.db.models import BaseConstraint, F, Q
from django.db.models.functions import Length
from django.db.models.lookups import LessThanOrEqual

from carts.value_types import (
    INT64,
    Choice,
    Currency,
    Guid,
    Integer,
    Line,
    ListOf,
    Paragraph,
    Price,
    Record,
    Text,
    is_optional,
    types_of,
)
from cartsvc.characters import INVISIBLE, NOT_IN_LINE, NOT_IN_PARAGRAPH
from cartsvc.db.column_check import ColumnCheck


def column(record: Record, name: str) -> models.Field:
    """Return the column of a record's field. Null means "not sent", which is not empty."""
    optional: Any = {"null": True, "blank": True} if is_optional(record, name) else {}
    kind = types_of(record)[name]
    match kind:
        case Text() | Currency() as text:
            return models.CharField(max_length=text.max_length, **optional)
        case Price() as price:
            digits, decimals = price.digits, price.decimals
            return models.DecimalField(max_digits=digits, decimal_places=decimals, **optional)
        case Integer():
            of_size = models.BigIntegerField if kind == INT64 else models.IntegerField
            return of_size(**optional)
        case Choice():
            return models.CharField(max_length=max(map(len, kind.words)), **optional)
        case Guid():
            return models.UUIDField(**optional)
    raise TypeError(f"There is no column for {kind}.")


def column_names(record: Record) -> tuple[str, ...]:
    """Return the fields of a record that are columns: all but its lists."""
    types = types_of(record)
    return tuple(name for name in record._fields if not isinstance(types[name], ListOf))


def checks(table: str, record: Record, names: Iterable[str] = ()) -> list[BaseConstraint]:
    """Return the CHECK constraints of a record's columns, or of those that are named."""
    found: list[BaseConstraint] = []
    for name in names or column_names(record):
        if rule := _rule(name, types_of(record)[name]):
            kind, condition = rule
            if is_optional(record, name):
                condition = Q(**{f"{name}__isnull": True}) | condition
            check_name = f"carts_{table}_{name}_{kind}"
            found.append(ColumnCheck(field=name, name=check_name, condition=condition))
    return found


def _rule(name: str, kind: Any) -> tuple[str, Q] | None:
    """Return what the constraint of a column is called, and its condition."""
    match kind:
        case Line():
            visible = Q(**{f"{name}__regex": f"[^{INVISIBLE}]"})
            return "line", _text(name, kind, NOT_IN_LINE) & visible
        case Paragraph():
            return "paragraph", _text(name, kind, NOT_IN_PARAGRAPH)
        case Currency():
            return "code", Q(**{f"{name}__regex": r"^[A-Z]{3}\Z"})
        case Choice():
            return "word", Q(**{f"{name}__in": kind.words})
        case Integer() | Price() if kind != INT64:
            # SQLite's integers have 64 bits.
            bounds = {f"{name}__gte": kind.minimum, f"{name}__lte": kind.maximum}
            return "range", Q(**bounds)
        case Guid() | Integer():
            return None  # the column holds nothing else
    raise TypeError(f"There is no constraint for {kind}.")


def _text(name: str, kind: Text, forbidden: str) -> Q:
    fits = Q(LessThanOrEqual(Length(F(name)), kind.max_length))
    return fits & ~Q(**{f"{name}__regex": f"[{forbidden}]"})
