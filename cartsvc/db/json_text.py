"""Rows as JSON text, made by the database: the same bytes on PostgreSQL and on SQLite.

The text goes to the caller as it is. What a read costs in Python does not grow with the rows.
`python -m tests.bench.instructions` shows what that saves; `tests/models/test_reads.py` holds the
bytes of both databases against each other.
"""

from collections.abc import Callable, Iterable
from typing import Any

from django.db import models
from django.db.models import Func, Model
from django.db.models.sql.compiler import SQLCompiler

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

    def as_postgresql(self, compiler: SQLCompiler, connection: Any, **extra: Any) -> Any:
        """Aggregate all grandchildren in one scan, then all children.

        The array of keys makes PostgreSQL look them up by their index, even while it has no
        statistics of a young table.
        """
        inner = ["'{'", *_members(postgresql_text, self.grandchild, "o", self.inner), "'}'"]
        outer = self._outer(postgresql_text, "o.json")
        child, grandchild = self.child.db_table, self.grandchild.db_table
        parent, root = self._parents()
        return self.as_sql(
            compiler,
            connection,
            template=f"""(
                SELECT string_agg(concat({", ".join(outer)}), ',' ORDER BY i.position)
                FROM {child} i LEFT JOIN (
                    SELECT o.{parent},
                        string_agg(concat({", ".join(inner)}), ',' ORDER BY o.position) AS json
                    FROM {grandchild} o WHERE o.{parent} = ANY(ARRAY(
                        SELECT id FROM {child} WHERE {root} = %(expressions)s
                    )) GROUP BY o.{parent}
                ) o ON o.{parent} = i.id
                WHERE i.{root} = %(expressions)s
            )""",
        )

    def as_sqlite(self, compiler: SQLCompiler, connection: Any, **extra: Any) -> Any:
        """Aggregate the grandchildren of one child after the other: there is no round trip."""
        inner = ["'{'", *_members(sqlite_text, self.grandchild, "o", self.inner), "'}'"]
        parent, root = self._parents()
        rows = f"""(
            SELECT coalesce(group_concat(json, ','), '') FROM (
                SELECT {" || ".join(inner)} AS json FROM {self.grandchild.db_table} o
                WHERE o.{parent} = i.id ORDER BY o.position
            )
        )"""
        return self.as_sql(
            compiler,
            connection,
            template=f"""(
                SELECT group_concat(json, ',') FROM (
                    SELECT {" || ".join(self._outer(sqlite_text, rows))} AS json
                    FROM {self.child.db_table} i
                    WHERE i.{root} = %(expressions)s ORDER BY i.position
                )
            )""",
        )

    def _outer(self, text_of: TextOf, rows: str) -> list[str]:
        return [
            "'{'",
            *_members(text_of, self.child, "i", self.outer),
            f"""',"{self.member}":['""",
            rows,
            "'],'",
            *_members(text_of, self.child, "i", self.after),
            "'}'",
        ]

    def _parents(self) -> tuple[str, str]:
        """Return the columns by which a grandchild names its child, and a child its parent."""
        return tuple(  # type: ignore[return-value]
            next(field.column for field in meta.concrete_fields if field.is_relation)
            for meta in (self.grandchild, self.child)
        )


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
