"""Sums of prices that are exact on both databases.

SQLite's own numbers keep only 15 digits. There a sum is stored as text, and functions that
the backend registers compute with it.
"""

import sqlite3
from decimal import Decimal
from typing import Any

from django.db import models
from django.db.models import Aggregate, Func
from django.db.models.sql.compiler import SQLCompiler

DECIMALS = 4


class ExactField(models.Field):
    """A column for a sum of prices, with four decimals and up to 28 digits."""

    def db_type(self, connection: Any) -> str:
        return "text" if connection.vendor == "sqlite" else f"numeric(28, {DECIMALS})"

    def get_db_prep_value(self, value: Any, connection: Any, prepared: bool = False) -> Any:
        return str(value) if connection.vendor == "sqlite" and value is not None else value

    def from_db_value(self, value: Any, *_: Any) -> Decimal | None:
        return None if value is None else Decimal(value)


class _Exact(Func):
    """An arithmetic operator. On SQLite it calls a function of `add_functions`."""

    output_field = ExactField()
    template = "(%(expressions)s)"
    on_sqlite = ""

    def as_sqlite(self, compiler: SQLCompiler, connection: Any, **extra: Any) -> Any:
        call = f"{self.on_sqlite}(%(expressions)s)"
        return self.as_sql(compiler, connection, template=call, arg_joiner=", ", **extra)


class Plus(_Exact):
    """The sum of two expressions, or null if either is null."""

    arg_joiner, on_sqlite = " + ", "exact_plus"


class Minus(_Exact):
    """The difference of two expressions, or null if either is null."""

    arg_joiner, on_sqlite = " - ", "exact_minus"


class Times(_Exact):
    """The product of two expressions, or null if either is null."""

    arg_joiner, on_sqlite = " * ", "exact_times"


class Total(Aggregate):
    """The sum of a column, or null if there are no rows."""

    function = "SUM"
    output_field = ExactField()

    def as_sqlite(self, compiler: SQLCompiler, connection: Any, **extra: Any) -> Any:
        return self.as_sql(compiler, connection, function="exact_sum", **extra)


def add_functions(connection: sqlite3.Connection) -> None:
    """Register the functions that the expressions above call on SQLite."""
    for name, operator in (
        ("exact_plus", Decimal.__add__),
        ("exact_minus", Decimal.__sub__),
        ("exact_times", Decimal.__mul__),
    ):
        connection.create_function(name, 2, _on_texts(operator), deterministic=True)
    connection.create_aggregate("exact_sum", 1, _Sum)  # type: ignore[arg-type]


def _on_texts(operator: Any) -> Any:
    def compute(left: Any, right: Any) -> str | None:
        if left is None or right is None:
            return None
        return str(operator(Decimal(str(left)), Decimal(str(right))))

    return compute


class _Sum:
    def __init__(self) -> None:
        self.total = Decimal(0)

    def step(self, number: Any) -> None:
        self.total += Decimal(str(number))

    def finalize(self) -> str:
        return str(self.total)
