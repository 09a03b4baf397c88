"""Rows as JSON text, made by the database: the same bytes on PostgreSQL and on SQLite.

The text goes to the caller as it is. What a read costs in Python does not grow with the rows.
`python -m tests.bench.instructions` shows what that saves; `tests/models/test_reads.py` holds the
bytes of both databases against each other.
"""

from collections.abc import Callable, Iterable
from typing import Any

from django.db import models
from django.db.models import Func, Model

from cartsvc.camel_case import camel_case
from cartsvc.db.fields import ExactField

# Returns the SQL whose text is the JSON of a column.
TextOf = Callable[[Any, str], str]


class JsonRows(Func):
    """The rows of `child` below the row with this `key`, as JSON objects separated by commas.

    Each object has the child's primary key as `identifier`, the `before` fields, the rows of
    `grandchild` below it as the array `member`, and the `after` fields, all named in camelCase.
    Rows are in the order of their `position`. There is no text for no rows.
    """

    output_field = models.TextField()

    def __init__(
        self,
        key: str,
        child: type[Model],
        grandchild: type[Model],
        *,
        identifier: str,
        before: Iterable[str],
        member: str,
        inner: Iterable[str],
        after: Iterable[str],
    ) -> None:
        super().__init__(key)
        self.child, self.grandchild = child._meta, grandchild._meta
        self.outer = {identifier: "id"} | {camel_case(name): name for name in before}
        self.member, self.after = member, {camel_case(name): name for name in after}
        self.inner = {camel_case(name): name for name in inner}

    def as_sql(self, compiler: Any, connection: Any, **extra: Any) -> Any:  # type: ignore[override]
        """Aggregate the grandchildren of one child after the other, in their order.

        On PostgreSQL a join of the aggregated grandchildren takes two to four times the time, for
        few and for many rows, and `ORDER BY` within the aggregate up to twice.
        """
        if connection.vendor == "sqlite":
            text_of, aggregate, concatenated = sqlite_text, "group_concat", " || ".join
        else:
            text_of, aggregate, concatenated = postgresql_text, "string_agg", _concat
        parent, root = self._parents()
        inner = ["'{'", *_members(text_of, self.grandchild, "o", self.inner), "'}'"]
        rows = f"""coalesce((
            SELECT {aggregate}(json, ',') FROM (
                SELECT {concatenated(inner)} AS json FROM {self.grandchild.db_table} o
                WHERE o.{parent} = i.id ORDER BY o.position
            ) o
        ), '')"""
        outer = [
            "'{'",
            *_members(text_of, self.child, "i", self.outer),
            f"""',"{self.member}":['""",
            rows,
            "'],'",
            *_members(text_of, self.child, "i", self.after),
            "'}'",
        ]
        return super().as_sql(
            compiler,
            connection,
            template=f"""(
                SELECT {aggregate}(json, ',') FROM (
                    SELECT {concatenated(outer)} AS json FROM {self.child.db_table} i
                    WHERE i.{root} = %(expressions)s ORDER BY i.position
                ) i
            )""",
        )

    def _parents(self) -> tuple[str, str]:
        """Return the columns by which a grandchild names its child, and a child its parent."""
        return tuple(  # type: ignore[return-value]
            next(field.column for field in meta.concrete_fields if field.is_relation)
            for meta in (self.grandchild, self.child)
        )


def _concat(pieces: Iterable[str]) -> str:
    return f"concat({', '.join(pieces)})"


def _members(text_of: TextOf, meta: Any, alias: str, names: dict[str, str]) -> list[str]:
    """Return the pieces of SQL whose texts, one after the other, are the members of an object."""
    pieces = []
    for number, (name, field) in enumerate(names.items()):
        comma = "," if number else ""
        pieces += [f"""'{comma}"{name}":'""", text_of(meta.get_field(field), f"{alias}.{field}")]
    return pieces


def postgresql_text(field: Any, column: str) -> str:
    """Return the SQL whose text is the JSON of the column, on PostgreSQL."""
    match field:
        case models.UUIDField():
            return f"""concat('"', {column}, '"')"""
        case models.DecimalField() | ExactField():
            return f"trim_scale({column})"
        case models.CharField():
            return (
                f"coalesce(to_json({column})::text, 'null')" if field.null else f"to_json({column})"
            )
    return column


def sqlite_text(field: Any, column: str) -> str:
    """Return the SQL whose text is the JSON of the column, on SQLite."""
    match field:
        case models.UUIDField():
            parts = (f"substr({column}, {at}, {n})" for at, n in UUID_PARTS)
            return f"""'"' || {" || '-' || ".join(parts)} || '"'"""
        case ExactField():
            return column
    return f"json_quote({column})"


# Where the parts of a UUID begin in SQLite's 32 digits, and how many digits they have.
UUID_PARTS = ((1, 8), (9, 4), (13, 4), (17, 4), (21, 12))
