"""Rows as JSON text, made by the database: the same bytes on PostgreSQL and on SQLite.

The text goes to the caller as it is. What a read costs in Python does not grow with the rows:
`python -m tests.bench.instructions` measures it. `tests/api/test_values.py` checks the text.
"""

from collections.abc import Callable, Iterable, Mapping
from itertools import zip_longest
from typing import Any

from django.db import models
from django.db.models import Func, Model

from cartsvc.db.exact_field import ExactField
from cartsvc.json_values import compact_json

# Of a field and its column: the SQL whose text is the JSON of the column.
TextOf = Callable[[Any, str], str]
Members = Mapping[str, str | tuple[type[Model], Mapping[str, str]]]


class JsonMembers(Func):
    """Members of a JSON object as text, each by its name: a field, an expression, or `JsonRows`.

    After them come the `others`, each an expression of such text.
    """

    output_field = models.TextField()

    def __init__(
        self, members: Mapping[str, str | models.Expression], *others: models.Expression
    ) -> None:
        super().__init__(*members.values(), *others)
        self.names = list(members)

    def as_sql(self, compiler: Any, connection: Any, **extra: Any) -> Any:  # type: ignore[override]
        text_of, _, concatenated = DIALECTS[connection.vendor]
        texts, others, parameters = dict[str, str](), list[str](), list[Any]()
        for name, member in zip_longest(self.names, self.get_source_expressions()):
            if isinstance(member, models.Value):
                texts[name] = f"'{compact_json(member.value)}'"
                continue
            sql, inner = compiler.compile(member)
            parameters += inner
            if name is None:
                others += ["','", sql]
            elif isinstance(member, JsonRows):
                texts[name] = sql
            else:
                texts[name] = text_of(getattr(member, "target", member.output_field), sql)
        return concatenated([*_members(texts), *others]), parameters


class JsonObject(JsonMembers):
    """The row itself as a JSON object."""

    def as_sql(self, compiler: Any, connection: Any, **extra: Any) -> Any:  # type: ignore[override]
        members, parameters = super().as_sql(compiler, connection)
        return f"'{{' || {members} || '}}'", parameters


class JsonRows(Func):
    """The rows of `model` below a row, as a JSON array of objects in the order of `position`.

    `members` are the fields of each object by their names in it. One of them may be the rows of
    another model below it: a pair of that model and its members.

    All rows have the `profile_key` of the first, the `customer`: an expression. A database that is
    spread by customer goes to a single node if it is a value.
    """

    output_field = models.TextField()

    def __init__(
        self, customer: models.Expression | models.F, model: type[Model], members: Members
    ) -> None:
        super().__init__("pk", customer)
        self.model, self.members = model, members

    def as_sql(self, compiler: Any, connection: Any, **extra: Any) -> Any:  # type: ignore[override]
        """Aggregate the grandchildren of one child after the other, in their order.

        PostgreSQL is slower with a join of the aggregated grandchildren, for few and for many rows,
        and with `ORDER BY` within the aggregate.
        """
        text_of, aggregate, concatenated = DIALECTS[connection.vendor]
        (parent, _), (customer, parameters) = map(compiler.compile, self.get_source_expressions())

        def rows(alias: str, model: type[Model], parent: str, members: Members) -> str:
            meta: Any = model._meta
            key = next(field.column for field in meta.concrete_fields if field.is_relation)
            texts = {
                name: text_of(meta.get_field(member), f"{alias}.{member}")
                if isinstance(member, str)
                else rows("o", member[0], f"{alias}.id", member[1])
                for name, member in members.items()
            }
            json = concatenated(["'{'", *_members(texts), "'}'"])
            return f"""'[' || coalesce((
                SELECT {aggregate}(json, ',') FROM (
                    SELECT {json} AS json FROM {meta.db_table} {alias}
                    WHERE {alias}.{key} = {parent} AND {alias}.profile_key = {customer}
                    ORDER BY {alias}.position
                ) {alias}
            ), '') || ']'"""

        return rows("i", self.model, parent, self.members), [*parameters, *parameters]


def _members(texts: Mapping[str, str]) -> list[str]:
    """Return the pieces of SQL whose text is the members, each with the SQL of its JSON."""
    pieces: list[str] = []
    for name, text in texts.items():
        pieces += [f"""'{"," * bool(pieces)}"{name}":'""", text]
    return pieces


def _or_null(field: Any, text: str) -> str:
    return f"coalesce({text}, 'null')" if field.null else text


def postgresql_text(field: Any, column: str) -> str:
    match field:
        case models.UUIDField():
            text = f"""'"' || {column} || '"'"""
        case models.DecimalField() | ExactField():
            text = f"trim_scale({column})::text"
        case models.DateTimeField():
            moment = f"to_char({column} AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US')"
            text = f"""'"' || {moment} || 'Z"'"""
        case models.CharField():
            text = f"to_json({column})::text"
        case _:
            text = f"{column}::text"
    return _or_null(field, text)


def sqlite_text(field: Any, column: str) -> str:
    match field:
        case models.UUIDField():
            parts = (f"substr({column}, {at}, {n})" for at, n in UUID_PARTS)
            text = f"""'"' || {" || '-' || ".join(parts)} || '"'"""
        case ExactField():
            text = column
        case models.DateTimeField():  # stored in UTC, a whole second without its fraction
            text = f"""'"' || substr(replace({column}, ' ', 'T') || '.000000', 1, 26) || 'Z"'"""
        case _:
            return f"json_quote({column})"  # of NULL, it is null
    return _or_null(field, text)


# Where the parts of a UUID begin in SQLite's 32 digits, and how many digits they have.
UUID_PARTS = ((1, 8), (9, 4), (13, 4), (17, 4), (21, 12))

# How each database writes the JSON of a column, joins rows, and joins pieces of text.
DIALECTS: dict[str, tuple[TextOf, str, Callable[[Iterable[str]], str]]] = {
    "postgresql": (postgresql_text, "string_agg", lambda pieces: f"concat({', '.join(pieces)})"),
    "sqlite": (sqlite_text, "group_concat", " || ".join),
}
