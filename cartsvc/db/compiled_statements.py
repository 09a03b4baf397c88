"""SQL statements that are built once per process and run with new values each time.

The framework takes several times as long to build and compile a query as to send it, though
only the values differ. What it saves is in tests/bench/README.md ("What compiling once saves");
`python -m tests.bench.instructions` measures it.

Values must have their field's Python type already: they are not converted.

Private parts of Django, 5.2 to 6.1, are the compiler of `django.db.models.sql`, its `as_sql` and
its converters in `Select`, and `_raw_delete` in `delete_in_shards`. If a private part changes,
`tests/models/test_compiled_statements.py` fails. Then write the statements as plain querysets.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import chain
from operator import attrgetter
from typing import Any, Self

from django.db import DEFAULT_DB_ALIAS, connections
from django.db.backends.utils import CursorWrapper
from django.db.models import Expression, Field, Model, QuerySet
from django.db.models.sql.compiler import SQLCompiler

Cursor = CursorWrapper
Rows = list[Sequence[Any]]

# PostgreSQL gets up to this many values one by one, because arrays cost more for a few. With more
# values, the text would often be one that psycopg has not parsed yet.
MAX_SINGLE_VALUES = 50


def _prepared(fields: Iterable[Any], values: Iterable[Any], connection: Any) -> list[Any]:
    """Return the values as SQLite's driver takes them. psycopg takes them as they are."""
    pairs = zip(fields, values, strict=True)
    return [field.get_db_prep_save(value, connection) for field, value in pairs]


class Parameter(Expression):
    """A placeholder for a value that is given when the statement runs."""

    def __init__(self, name: str, field: Field) -> None:
        super().__init__(output_field=field)
        self.name = name

    def as_sql(self, *_: object, **__: object) -> tuple[str, list[Self]]:  # type: ignore[override]
        return "%s", [self]


def parameters(model: type[Model], names: Iterable[str]) -> dict[str, Parameter]:
    return {name: Parameter(name, model._meta.get_field(name)) for name in names}  # type: ignore[arg-type]


class Select:
    """A SELECT of columns: a queryset's `values_list`, whose filters have parameters."""

    def __init__(self, queryset: Callable[[], QuerySet]) -> None:
        self.queryset = queryset

    @cached_property
    def compiler(self) -> SQLCompiler:
        return self.queryset().query.get_compiler(DEFAULT_DB_ALIAS)

    @cached_property
    def compiled(self) -> tuple[str, list[Any], list[Any], dict[int, Any]]:
        """The text, its parameters, their fields, and what converts the columns, if anything."""
        sql, parameters = self.compiler.as_sql()
        fields = [getattr(parameter, "output_field", Field()) for parameter in parameters]
        columns = [column for column, _, _ in self.compiler.select]
        return sql, list(parameters), fields, self.compiler.get_converters(columns)

    def rows(self, **values: Any) -> Rows:
        with connections[DEFAULT_DB_ALIAS].cursor() as cursor:
            self.send(cursor, values)
            return self.received(cursor)

    def send(self, cursor: Cursor, values: Mapping[str, Any]) -> None:
        """Run the SELECT on this cursor, or in an exchange only send it."""
        sql, parameters, fields, _ = self.compiled
        sent = [values[one.name] if type(one) is Parameter else one for one in parameters]
        if cursor.db.vendor != "postgresql":
            sent = _prepared(fields, sent, cursor.db)
        cursor.execute(sql, sent)

    def received(self, cursor: Cursor) -> Rows:
        rows: Rows = cursor.fetchall()
        *_, converters = self.compiled
        # psycopg gives numbers as they are. Their zeros are left to whoever shows them.
        if not converters or cursor.db.vendor == "postgresql":
            return rows
        # The compiler's own connection may be another thread's.
        compiler = self.compiler.query.get_compiler(connection=cursor.db)
        return list(compiler.apply_converters(rows, converters))


class Statement:
    """A statement with values of a model's fields `names`, in this order."""

    def __init__(self, sql: str, model: type[Model], names: Iterable[str]) -> None:
        self.sql, self.names = sql, list(names)
        self.fields = [model._meta.get_field(name) for name in self.names]

    def send(self, cursor: Cursor, values: Mapping[str, Any]) -> None:
        sent = [values[name] for name in self.names]
        if cursor.db.vendor != "postgresql":
            sent = _prepared(self.fields, sent, cursor.db)
        cursor.execute(self.sql, sent)


def update_rows(model: type[Model], names: Sequence[str], *keys: str) -> Statement:
    """Return the UPDATE that sets the fields `names` of the rows with these `keys`."""
    columns, condition = ", ".join(_equal(model, names)), " AND ".join(_equal(model, keys))
    sql = f'UPDATE "{model._meta.db_table}" SET {columns} WHERE {condition}'
    return Statement(sql, model, [*names, *keys])


def insert_row(model: type[Model], ending: str = "") -> Statement:
    """Return the INSERT of a row with all of the model's fields."""
    names = [field.attname for field in model._meta.concrete_fields]
    insert = Insert(model, names)
    return Statement(_of_rows(insert.into, insert.row, 1) + ending, model, names)


def delete_rows(model: type[Model], *names: str) -> Statement:
    """Return the DELETE of the rows with these values. No other row may refer to them."""
    condition = " AND ".join(_equal(model, names))
    return Statement(f'DELETE FROM "{model._meta.db_table}" WHERE {condition}', model, names)


def delete_in_shards(rows: QuerySet) -> int:
    """Delete the rows in one statement, with what refers to them. Return how many there were.

    `delete` would lock and look first, which a distributed database cannot do over its shards.
    """
    return QuerySet._raw_delete(rows, rows.db)  # noqa: SLF001


def _columns(model: type[Model], names: Iterable[str]) -> list[str]:
    return [f'"{model._meta.get_field(name).column}"' for name in names]  # type: ignore[union-attr]


def _equal(model: type[Model], names: Iterable[str]) -> list[str]:
    return [f"{column} = %s" for column in _columns(model, names)]


class Insert:
    """An INSERT of any number of rows into the fields `names` of a model.

    They are UUIDs, texts or numbers. The fields `shared`, of any type, have the same value in all
    rows, which is sent once.
    """

    def __init__(
        self, model: type[Model], names: Sequence[str], shared: Sequence[str] = ()
    ) -> None:
        self.shared, every = shared, [*shared, *names]
        self.fields: list[Any] = [model._meta.get_field(name) for name in every]
        self.varying = self.fields[len(shared) :]
        self.into = f'INSERT INTO "{model._meta.db_table}" ({", ".join(_columns(model, every))})'
        self.row = f"({', '.join(['%s'] * len(every))})"

    def send(self, cursor: Cursor, values: Mapping[str, Any]) -> None:
        """Insert the `rows` of the values, tuples in the order of the names, if there are any."""
        rows: list[tuple[Any, ...]] = values["rows"]
        if not rows:
            return
        shared = [values[name] for name in self.shared]
        every: Iterator[Sequence[Any]] = ((*shared, *row) for row in rows)
        if cursor.db.vendor != "postgresql":
            prepared = [_prepared(self.fields, row, cursor.db) for row in every]
            cursor.executemany(_of_rows(self.into, self.row, 1), prepared)
        # On a distributed database, arrays would begin a two-phase commit.
        elif len(rows) * len(self.fields) <= MAX_SINGLE_VALUES or cursor.db.is_distributed:
            sql = _of_rows(self.into, self.row, len(rows))
            cursor.execute(sql, list(chain.from_iterable(every)))
        else:
            arrays = map(_array, self.varying, self.types, zip(*rows, strict=True))
            cursor.execute(self.of_columns, [*shared, *arrays])

    @cached_property
    def of_columns(self) -> str:
        """The statement that takes each column as one array, on PostgreSQL.

        It is planned in less time than a row of placeholders for each row.
        """
        arrays = ", ".join(f"%s::{kind}[]" for kind in self.types)
        shared = "%s, " * len(self.shared)
        return f"{self.into} SELECT {shared}rows.* FROM UNNEST({arrays}) AS rows"

    @cached_property
    def types(self) -> list[str]:
        """PostgreSQL's types of the columns. A length would cut longer texts without a word."""
        connection = connections[DEFAULT_DB_ALIAS]
        return [field.db_type(connection).partition("(")[0] for field in self.varying]


class MoveRows:
    """Gives rows the value `new` of the field `name`, by which a distributed database spreads them.

    Such a database does not update it: the rows are copied, and then deleted. Each table has the
    condition of its rows, which takes the values of `send`, and stands after those it refers to.
    """

    def __init__(self, name: str, *tables: tuple[type[Model], str]) -> None:
        self.field: Any = tables[0][0]._meta.get_field(name)
        self.copies, self.updates, self.deletions = list[str](), list[str](), list[str]()
        [column] = _columns(tables[0][0], [name])
        for model, condition in tables:
            names = [field.attname for field in model._meta.concrete_fields]
            table, columns = f'"{model._meta.db_table}"', _columns(model, names)
            rows, every = f"{table} WHERE {condition}", ", ".join(columns)
            moved = ", ".join("%(new)s" if one == column else one for one in columns)
            self.copies.append(f"INSERT INTO {table} ({every}) SELECT {moved} FROM {rows}")
            self.updates.insert(0, f"UPDATE {table} SET {column} = %(new)s WHERE {condition}")
            self.deletions.insert(0, f"DELETE FROM {rows}")

    def send(self, cursor: Cursor, values: Mapping[str, Any]) -> None:
        copied = [f"SELECT pg_advisory_xact_lock({MOVING})", *self.copies, *self.deletions]
        sent = {
            name: self.field.get_db_prep_save(value, cursor.db) for name, value in values.items()
        }
        for sql in copied if cursor.db.is_distributed else self.updates:
            cursor.execute(sql, sent)


MOVING = "hashtext('cartsvc.move')"


class AwaitMoves:
    """Lets no rows be moved while the statements after it run in a distributed database.

    That commits on one server after the other: a SELECT from all of them could find such rows
    nowhere.
    """

    def send(self, cursor: Cursor, _values: Mapping[str, Any]) -> None:
        if cursor.db.is_distributed:
            cursor.execute(f"SELECT pg_advisory_xact_lock_shared({MOVING})")


@lru_cache(1000)  # callers choose the count, up to MAX_SINGLE_VALUES
def _of_rows(into: str, row: str, count: int) -> str:
    return f"{into} VALUES {', '.join([row] * count)}"


def _array(field: Any, kind: str, column: Sequence[Any]) -> str:
    """Return an array as PostgreSQL writes it: psycopg takes several times as long for a list."""
    write = ELEMENTS.get(kind, str)
    if field.null:
        return f"{{{','.join('NULL' if one is None else write(one) for one in column)}}}"
    if write is _quoted:
        # Most texts have nothing to escape, which is quicker seen in all of them together.
        every = '","'.join(column)
        if "\\" not in every and every.count('"') == 2 * len(column) - 2:
            return f'{{"{every}"}}'
    return f"{{{','.join(map(write, column))}}}"


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


# What writes an element of an array that is not of numbers.
ELEMENTS: dict[str, Callable[[Any], str]] = {
    "uuid": attrgetter("hex"),
    "varchar": _quoted,
    "text": _quoted,
}
