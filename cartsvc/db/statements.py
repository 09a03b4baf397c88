"""SQL statements that the ORM compiles once per process and that run with new values each time.

The framework takes several times as long to build and compile a query as to send it, though
only the values differ. Here a `Parameter` stands in for each value.

This uses private parts of Django: the compilers of `django.db.models.sql` and their `as_sql`,
`klass_info` and `annotation_col_map`. It also uses psycopg's pipeline and binary arrays. It
holds on Django 5.2 to 6.1 and psycopg 3.3.

It saves this share of a request's instructions (`python -m tests.bench.instructions`): 49 to
55 % of a create, 62 % of a replacement, 45 % of a read and at least 20 % of a list.

If a private part changes, `tests/models/test_statements.py` fails. Then rewrite the manager's
statements as plain querysets.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from itertools import chain
from operator import attrgetter
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connections, transaction
from django.db.models import Expression, Field, Model, QuerySet
from django.db.models.sql import DeleteQuery, InsertQuery, Query, UpdateQuery
from django.utils.functional import cached_property

from cartsvc.db.fields import SavedAsItIs

# Up to this many values are sent one by one, which takes two thirds of the time of arrays for
# six options. With more values, the text would often be one that psycopg has not parsed yet.
FEW = 50

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


def parameters(model: type[Model], names: Sequence[str]) -> dict[str, Parameter]:
    """Return a parameter for each of the named fields of the model, by name."""
    return dict(zip(names, map(Parameter, names, _fields(model, names)), strict=True))


def _fields(model: type[Model], names: Iterable[str]) -> list[Any]:
    return [model._meta.get_field(name) for name in names]


def named(sql: str, parameters: Sequence[Any]) -> tuple[str, dict[str, Any]]:
    """Return the statement with named parameters, and the parameters by name.

    A parameter that occurs several times is then sent only once.
    """
    names = [
        part.name if type(part) is Parameter else f"constant_{number}"
        for number, part in enumerate(parameters)
    ]
    first, *rest = sql.split("%s")
    text = first + "".join(f"%({name})s{piece}" for name, piece in zip(names, rest, strict=True))
    return text, dict(zip(names, parameters, strict=True))


class Statement:
    """A compiled UPDATE, DELETE or SELECT."""

    def __init__(self, query: Query, ending: str = "") -> None:
        self.query = query
        self.ending = ending

    @classmethod
    def update(
        cls, rows: QuerySet[Any], values: Mapping[str, Any], *, returning: str = ""
    ) -> "Statement":
        """Return the UPDATE of these rows, which returns a column if one is named."""
        query: Any = rows.query.chain(UpdateQuery)
        query.add_update_values(values)
        return cls(query, f' RETURNING "{returning}"' if returning else "")

    @classmethod
    def delete(cls, rows: QuerySet[Any]) -> "Statement":
        """Return the DELETE of these rows. No other row may refer to them: nothing cascades."""
        return cls(rows.query.chain(DeleteQuery))

    def run(self, **values: Any) -> int:
        """Run the statement with these values of its parameters. Return how many rows matched."""
        with shared_cursor() as cursor:
            cursor.execute(*self.bound(cursor.db, values))
            return int(cursor.rowcount)

    def returned(self, **values: Any) -> Any:
        """Run with the parameters' values; return the first row's column, or None."""
        with shared_cursor() as cursor:
            cursor.execute(*self.bound(cursor.db, values))
            rows = cursor.fetchall()
        return rows[0][0] if rows else None

    def bound(self, connection: Any, values: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
        """Return the statement's text and the values prepared for the database, by name."""
        sql, parameters = self.compiled
        return sql, {
            name: part.prepared(values[name], connection) if type(part) is Parameter else part
            for name, part in parameters.items()
        }

    @cached_property
    def compiled(self) -> tuple[str, dict[str, Any]]:
        """The statement's text, and its parameters and constants by their names in it."""
        sql, parameters = named(*self.compiler().as_sql())
        return sql + self.ending, parameters

    def compiler(self) -> Any:
        """Return a compiler for a copy of the query."""
        # Compiling changes the query, and another thread may be compiling it, too.
        return self.query.clone().get_compiler(DEFAULT_DB_ALIAS)


class Select(Statement):
    """A SELECT of model instances with the queryset's annotations, or of columns alone."""

    def __init__(self, rows: QuerySet[Any]) -> None:
        super().__init__(rows.query)
        self.model = rows.model

    @cached_property
    def compiled(self) -> tuple[str, dict[str, Any]]:
        compiler = self.compiler()
        compiled = named(*compiler.as_sql())
        columns = [column for column, _, _ in compiler.select]
        self.converters: dict[int, Any] = compiler.get_converters(columns)
        if compiler.klass_info:  # None if the rows are no instances
            self.annotations: dict[str, int] = compiler.annotation_col_map
            positions: list[int] = compiler.klass_info["select_fields"]
            self.fields = slice(positions[0], positions[-1] + 1)
            self.names = frozenset(column.target.attname for column in columns[self.fields])
        return compiled

    def fetch(self, **values: Any) -> list[Any]:
        """Run the SELECT with these values of its parameters. Return the model's instances."""
        return [self.instance(row) for row in self.rows(**values)]

    def rows(self, **values: Any) -> Iterable[Sequence[Any]]:
        """Run the SELECT with these values of its parameters. Return its columns, row by row."""
        with shared_cursor() as cursor:
            cursor.execute(*self.bound(cursor.db, values))
            rows: list[Sequence[Any]] = cursor.fetchall()
        compiler = self.query.get_compiler(connection=cursor.db)
        return compiler.apply_converters(rows, self.converters)

    def instance(self, row: Sequence[Any]) -> Any:
        """Return the model instance of one converted row."""
        instance = self.model.from_db(DEFAULT_DB_ALIAS, self.names, row[self.fields])
        for name, position in self.annotations.items():
            setattr(instance, name, row[position])
        return instance


class Insert:
    """An INSERT of any number of rows into the fields `names` of a model."""

    def __init__(self, model: type[Model], names: Sequence[str]) -> None:
        self.model = model
        self.fields = _fields(model, names)
        self.values_of = attrgetter(*names)

    def run(self, rows: Iterable[Any]) -> None:
        """Insert the rows: objects with attributes of these names, or tuples in their order."""
        values = [row if type(row) is tuple else self.values_of(row) for row in rows]
        if not values:
            return
        with shared_cursor() as cursor:
            columns = [
                _prepared(field, column, cursor.db)
                for field, column in zip(self.fields, zip(*values, strict=True), strict=True)
            ]
            prepared = list(zip(*columns, strict=True))
            if len(prepared) * len(columns) <= FEW:
                cursor.execute(self.of_rows(len(prepared)), list(chain.from_iterable(prepared)))
            elif self.of_columns:
                cursor.execute(self.of_columns, columns)
            else:
                cursor.executemany(self.of_rows(1), prepared)

    def of_rows(self, count: int) -> str:
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
