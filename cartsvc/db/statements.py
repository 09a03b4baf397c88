"""Statements that the ORM compiles once a process, run with other values each time.

The framework takes several times as long to build and compile a query as to send it, and
only the values differ. Here a `Parameter` stands for each value.

This leans on private parts: the compilers of `django.db.models.sql` and their `as_sql`,
`klass_info` and `annotation_col_map`; and on psycopg's pipeline and binary arrays.
It buys, in instructions of a request (`python -m tests.bench.instructions`): 49 to 55 % of
what creates, 62 % of what replaces, 45 % of what reads, 20 % of what lists. It holds on
Django 5.2 to 6.1 and psycopg 3.3. If one of them moves,
`tests/models/test_statements.py` fails: write what the manager runs as plain querysets.
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

# Up to so many values go one by one: for six options that takes two thirds of the time of
# arrays. With more, psycopg would parse a statement that it has not seen before.
FEW = 50

_cursor: ContextVar[Any] = ContextVar("cursor")


@contextmanager
def atomic() -> Iterator[None]:
    """A transaction whose statements share a cursor: one more takes 5 us of CPU."""
    with transaction.atomic(), connections[DEFAULT_DB_ALIAS].cursor() as cursor:
        token = _cursor.set(cursor)
        try:
            yield
        finally:
            _cursor.reset(token)


def shared_cursor() -> Any:
    """Return the transaction's cursor, not to be closed before it ends, or else one's own."""
    shared = _cursor.get(None)
    return nullcontext(shared) if shared else connections[DEFAULT_DB_ALIAS].cursor()


@contextmanager
def one_round_trip() -> Iterator[None]:
    """Send the block's statements together: one round trip on PostgreSQL, not one each.

    What they did, and whether they failed, is not known before the end of the block.
    """
    connection = connections[DEFAULT_DB_ALIAS]
    pipeline = getattr(connection.connection, "pipeline", nullcontext)
    with connection.wrap_database_errors, pipeline():
        yield


class Parameter(Expression):
    """A value that is not known before the statement runs."""

    def __init__(self, name: str, field: "Field[Any, Any]") -> None:
        super().__init__(output_field=field)
        self.name = name
        self.prepared = field.get_db_prep_save

    def as_sql(self, *_: Any, **__: Any) -> Any:
        return "%s", [self]


def parameters(model: type[Model], names: Sequence[str]) -> dict[str, Parameter]:
    """Return a parameter for each of the model's fields, by its name."""
    return dict(zip(names, map(Parameter, names, _fields(model, names)), strict=True))


def _fields(model: type[Model], names: Iterable[str]) -> list[Any]:
    return [model._meta.get_field(name) for name in names]


def named(sql: str, parameters: Sequence[Any]) -> tuple[str, dict[str, Any]]:
    """Return the statement with names for its parameters: one that comes often is sent once."""
    names = [
        part.name if type(part) is Parameter else f"constant_{number}"
        for number, part in enumerate(parameters)
    ]
    first, *rest = sql.split("%s")
    text = first + "".join(f"%({name})s{piece}" for name, piece in zip(names, rest, strict=True))
    return text, dict(zip(names, parameters, strict=True))


class Statement:
    """An UPDATE, a DELETE or a SELECT."""

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
        """Return the DELETE of these rows; nothing may refer to them."""
        return cls(rows.query.chain(DeleteQuery))

    def run(self, **values: Any) -> int:
        """Run with the parameters' values, by name; return how many rows were matched."""
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
        """Return the statement's text, and its parameters as the database takes them."""
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
        # Compiling changes a query, and another thread may be at it.
        return self.query.clone().get_compiler(DEFAULT_DB_ALIAS)


class Select(Statement):
    """Rows of a model, with what the queryset is annotated with."""

    def __init__(self, rows: QuerySet[Any]) -> None:
        super().__init__(rows.query)
        self.model = rows.model

    @cached_property
    def compiled(self) -> tuple[str, dict[str, Any]]:
        compiler = self.compiler()
        compiled = named(*compiler.as_sql())
        columns = [column for column, _, _ in compiler.select]
        self.converters: dict[int, Any] = compiler.get_converters(columns)
        self.annotations: dict[str, int] = compiler.annotation_col_map
        positions: list[int] = compiler.klass_info["select_fields"]
        self.fields = slice(positions[0], positions[-1] + 1)
        self.names = frozenset(column.target.attname for column in columns[self.fields])
        return compiled

    def fetch(self, **values: Any) -> list[Any]:
        """Return the rows as instances of the model, all at once."""
        with shared_cursor() as cursor:
            cursor.execute(*self.bound(cursor.db, values))
            rows = cursor.fetchall()
        compiler = self.query.get_compiler(connection=cursor.db)
        return [self.instance(row) for row in compiler.apply_converters(rows, self.converters)]

    def instance(self, row: Sequence[Any]) -> Any:
        instance = self.model.from_db(DEFAULT_DB_ALIAS, self.names, row[self.fields])
        for name, position in self.annotations.items():
            setattr(instance, name, row[position])
        return instance


class Insert:
    """New rows: objects with attributes of these names, or the values in their order."""

    def __init__(self, model: type[Model], names: Sequence[str]) -> None:
        self.model = model
        self.fields = _fields(model, names)
        self.values_of = attrgetter(*names)

    def run(self, rows: Iterable[Any]) -> None:
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
        """Return the statement that takes the values of so many rows."""
        into, values, row = self.of_one.partition("VALUES ")
        return into + values + ", ".join([row] * count)

    @cached_property
    def of_one(self) -> str:
        return self.compiled(rows=1)[0]

    @cached_property
    def of_columns(self) -> str | None:
        """The statement that takes the values of each column as one array, if there is one."""
        sql, parameters = self.compiled(rows=2)
        # An array in PostgreSQL's binary format takes both sides less than half of the time.
        return sql.replace("%s", "%b") if isinstance(parameters[0], list) else None

    def compiled(self, rows: int) -> tuple[str, Sequence[Any]]:
        query = InsertQuery(self.model)
        query.insert_values(self.fields, [self.model() for _ in range(rows)])
        [compiled] = query.get_compiler(DEFAULT_DB_ALIAS).as_sql()
        return compiled


def _prepared(field: Any, column: Sequence[Any], connection: Any) -> list[Any]:
    if isinstance(field, SavedAsItIs) and {field.saved}.issuperset(map(type, column)):
        return list(column)
    return [field.get_db_prep_save(value, connection) for value in column]
