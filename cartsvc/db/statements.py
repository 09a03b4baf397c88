"""SQL statements that are built once per process and run with new values each time.

The framework takes several times as long to build and compile a query as to send it, though
only the values differ. What it saves is in tests/bench/README.md ("What compiling once saves");
`python -m tests.bench.instructions` measures it.

`Select` and `Insert` use private parts of Django: the compilers of `django.db.models.sql`, their
`as_sql`, and for a Select the converters of its columns. `Insert` sends psycopg's binary arrays,
and `one_round_trip` uses psycopg's pipeline, which is documented. They hold on Django 5.2 to 6.1
and psycopg 3.3. If a private part changes, `tests/models/test_statements.py` fails. Then write the
manager's statements as plain querysets.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from functools import cache
from itertools import chain
from operator import attrgetter
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connection, connections, transaction
from django.db.models import Expression, Field, Model, QuerySet
from django.db.models.sql import InsertQuery
from django.utils.functional import cached_property

from cartsvc.db.fields import SavedAsItIs

# Up to this many values are sent one by one, which takes two thirds of the time of arrays for
# six options. With more values, the text would often be one that psycopg has not parsed yet.
MAX_SINGLE_VALUES = 50

_cursor: ContextVar[Any] = ContextVar("cursor")


@contextmanager
def atomic() -> Iterator[None]:
    """Run the block in a transaction whose statements share a cursor.

    Each cursor that is not opened saves 5 µs of CPU.
    """
    with transaction.atomic(), connections[DEFAULT_DB_ALIAS].cursor() as cursor:
        token = _cursor.set(cursor)
        try:
            yield
        finally:
            _cursor.reset(token)


def shared_cursor() -> Any:
    """Return a context manager for the cursor of `atomic()`, or for a new one outside of it.

    Leaving the context does not close the cursor of `atomic()`.
    """
    shared = _cursor.get(None)
    return nullcontext(shared) if shared else connections[DEFAULT_DB_ALIAS].cursor()


@contextmanager
def one_round_trip() -> Iterator[None]:
    """Send the block's statements together, in one round trip on PostgreSQL.

    Their results and errors are not known before the end of the block.
    """
    connection = connections[DEFAULT_DB_ALIAS]
    pipeline = getattr(connection.connection, "pipeline", nullcontext)
    with connection.wrap_database_errors, pipeline():
        yield


class Parameter(Expression):
    """A placeholder for a value that is given when the statement runs."""

    def __init__(self, name: str, field: "Field[Any, Any]") -> None:
        super().__init__(output_field=field)
        self.name = name
        self.prepared = field.get_db_prep_save

    def as_sql(self, *_: Any, **__: Any) -> Any:
        return "%s", [self]


def parameters(model: type[Model], names: Iterable[str]) -> dict[str, Parameter]:
    """Return a parameter for each of the named fields of the model, by name."""
    return {name: Parameter(name, field) for name, field in _fields(model, names).items()}


def _fields(model: type[Model], names: Iterable[str]) -> dict[str, Any]:
    return {name: model._meta.get_field(name) for name in names}


class Select:
    """A SELECT of columns: a queryset's `values_list`, with parameters in its filters."""

    def __init__(self, rows: Callable[[], QuerySet[Any]]) -> None:
        self.queryset = rows

    @cached_property
    def query(self) -> Any:
        """The query of the queryset, which is made when the statement is first needed."""
        return self.queryset().query

    @cached_property
    def compiled(self) -> tuple[str, Sequence[Any]]:
        """The statement's text, and its parameters and constants in their order."""
        # Compiling changes the query, and another thread may be compiling it, too.
        compiler = self.query.clone().get_compiler(DEFAULT_DB_ALIAS)
        sql, parameters = compiler.as_sql()
        self.converters: dict[int, Any] = compiler.get_converters(
            [column for column, _, _ in compiler.select]
        )
        return sql, parameters

    def rows(self, **values: Any) -> list[Sequence[Any]]:
        """Run the SELECT with these values of its parameters. Return its columns, row by row."""
        with shared_cursor() as cursor:
            self.send(cursor, **values)
            return self.received(cursor)

    def send(self, cursor: Any, /, **values: Any) -> None:
        """Run the SELECT on this cursor. In `one_round_trip` it is only sent."""
        sql, parameters = self.compiled
        cursor.execute(
            sql,
            [
                part.prepared(values[part.name], cursor.db) if type(part) is Parameter else part
                for part in parameters
            ],
        )

    def received(self, cursor: Any) -> list[Sequence[Any]]:
        """Return the rows of the SELECT that was sent on this cursor."""
        rows: list[Sequence[Any]] = cursor.fetchall()
        if not self.converters:
            return rows
        compiler = self.query.get_compiler(connection=cursor.db)
        return list(compiler.apply_converters(rows, self.converters))


def fetch_together(
    first: Select, first_values: Mapping[str, Any], second: Select, second_values: Mapping[str, Any]
) -> tuple[list[Sequence[Any]], list[Sequence[Any]]]:
    """Run two SELECTs with their values, in one round trip on PostgreSQL. Return their rows.

    They run one after the other: the second sees what was committed while the first waited.
    """
    # Rows that are not fetched yet need a cursor of their own.
    with shared_cursor() as cursor, connections[DEFAULT_DB_ALIAS].cursor() as other:
        with one_round_trip():
            first.send(cursor, **first_values)
            second.send(other, **second_values)
        return first.received(cursor), second.received(other)


class _Change:
    """A statement that changes rows of a model by the values of its fields `names`."""

    def __init__(self, model: type[Model], names: Iterable[str]) -> None:
        self.model = model
        self.fields = _fields(model, names)

    @property
    def table(self) -> str:
        """The quoted name of the model's table."""
        return connection.ops.quote_name(self.model._meta.db_table)

    def columns(self, names: Iterable[str]) -> list[str]:
        """Return `"column" = %s` for each of the fields."""
        columns = (self.fields[name].column for name in names)
        return [f"{connection.ops.quote_name(column)} = %s" for column in columns]

    def run(self, **values: Any) -> None:
        """Run the statement with these values of its fields."""
        with shared_cursor() as cursor:
            cursor.execute(
                self.sql,
                [
                    field.get_db_prep_save(values[name], cursor.db)
                    for name, field in self.fields.items()
                ],
            )

    @cached_property
    def sql(self) -> str:
        """The text of the statement."""
        raise NotImplementedError


class Update(_Change):
    """The UPDATE that sets the fields `names` of the row with this key."""

    def __init__(self, model: type[Model], names: Iterable[str], *, key: str = "id") -> None:
        super().__init__(model, [*names, key])

    @cached_property
    def sql(self) -> str:
        """The text of the statement."""
        *columns, key = self.columns(self.fields)
        return f"UPDATE {self.table} SET {', '.join(columns)} WHERE {key}"


class Delete(_Change):
    """The DELETE of the rows with these values. Nothing cascades: no other row refers to them."""

    @cached_property
    def sql(self) -> str:
        """The text of the statement."""
        return f"DELETE FROM {self.table} WHERE {' AND '.join(self.columns(self.fields))}"


class DeleteBelow(Delete):
    """The DELETE of the rows whose `parent` rows have these values; `key` names their parent."""

    def __init__(
        self, model: type[Model], key: str, parent: type[Model], names: Iterable[str]
    ) -> None:
        super().__init__(parent, names)
        self.child, self.key = model._meta.db_table, _fields(model, [key])[key].column

    @cached_property
    def sql(self) -> str:
        """The text of the statement."""
        parents = f"SELECT id FROM {self.table} WHERE {' AND '.join(self.columns(self.fields))}"
        return f"DELETE FROM {self.child} WHERE {self.key} IN ({parents})"


class Insert:
    """An INSERT of any number of rows into the fields `names` of a model."""

    def __init__(self, model: type[Model], names: Sequence[str]) -> None:
        self.model = model
        self.fields = list(_fields(model, names).values())
        self.values_of = attrgetter(*names)
        self.of_rows = cache(self._of_rows)

    def run(self, rows: Iterable[Any]) -> None:
        """Insert the rows: objects with attributes of these names, or tuples in their order."""
        values = [row if type(row) is tuple else self.values_of(row) for row in rows]
        if not values:
            return
        with shared_cursor() as cursor:
            if len(values) == 1:
                pairs = zip(self.fields, values[0], strict=True)
                cursor.execute(
                    self.of_one,
                    [field.get_db_prep_save(value, cursor.db) for field, value in pairs],
                )
                return
            columns = [
                _prepared(field, column, cursor.db)
                for field, column in zip(self.fields, zip(*values, strict=True), strict=True)
            ]
            prepared = list(zip(*columns, strict=True))
            if len(prepared) * len(columns) <= MAX_SINGLE_VALUES:
                cursor.execute(self.of_rows(len(prepared)), list(chain.from_iterable(prepared)))
            elif self.of_columns:
                cursor.execute(self.of_columns, columns)
            else:
                cursor.executemany(self.of_rows(1), prepared)

    def _of_rows(self, count: int) -> str:
        """Return the text of the statement that inserts `count` rows."""
        into, values, row = self.of_one.partition("VALUES ")
        return into + values + ", ".join([row] * count)

    @cached_property
    def of_one(self) -> str:
        """The text of the statement that inserts one row."""
        return self.compiled(rows=1)[0]

    @cached_property
    def of_columns(self) -> str | None:
        """The statement that takes each column as one array, or None on SQLite."""
        sql, parameters = self.compiled(rows=2)
        # An array in binary format takes client and server less than half the time of text.
        return sql.replace("%s", "%b") if isinstance(parameters[0], list) else None

    def compiled(self, rows: int) -> tuple[str, Sequence[Any]]:
        """Return the framework's INSERT of so many rows: its text and its parameters."""
        query = InsertQuery(self.model)
        query.insert_values(self.fields, [self.model() for _ in range(rows)])
        [compiled] = query.get_compiler(DEFAULT_DB_ALIAS).as_sql()
        return compiled


def _prepared(field: Any, column: Sequence[Any], connection: Any) -> list[Any]:
    if isinstance(field, SavedAsItIs) and {field.saved}.issuperset(map(type, column)):
        return list(column)
    return [field.get_db_prep_save(value, connection) for value in column]
