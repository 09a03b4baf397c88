"""Checks of one column, which PostgreSQL does not read anew for every statement."""

from typing import Any

from django.db.models import CheckConstraint


class ColumnCheck(CheckConstraint):
    """A check of the column of `field`. On PostgreSQL, it is that of a domain with its name.

    PostgreSQL reads the text of all checks of a table for every statement. A domain's checks it
    keeps for the session, and applies where the column is written. What that saves is in
    tests/bench/README.md ("What constraints cost").

    Only this column has the domain as its type, and has it before the domain has its check: else
    PostgreSQL writes the table anew, as it does when the check is removed. Remove it before the
    field's type is altered: Django would give the column the plain type, and then
    `tests/models/test_constraints.py` fails.
    A table with a `db_default` gets it by AddConstraint: Django would run it before CREATE TABLE.
    """

    def __init__(self, *, field: str, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.field = field

    def deconstruct(self) -> Any:
        path, arguments, named = super().deconstruct()
        return path, arguments, {**named, "field": self.field}

    def constraint_sql(self, model: Any, schema_editor: Any) -> Any:
        if schema_editor.connection.vendor != "postgresql":
            return super().constraint_sql(model, schema_editor)
        schema_editor.deferred_sql += self._create(model, schema_editor)
        return None  # in the table that is about to be created

    def create_sql(self, model: Any, schema_editor: Any) -> Any:
        if schema_editor.connection.vendor != "postgresql":
            return super().create_sql(model, schema_editor)
        return _run_but_last(schema_editor, self._create(model, schema_editor))

    def remove_sql(self, model: Any, schema_editor: Any) -> Any:
        if schema_editor.connection.vendor != "postgresql":
            return super().remove_sql(model, schema_editor)
        name, _, plain, retype = self._domain(model, schema_editor)
        return _run_but_last(schema_editor, [f"{retype} {plain}", f"DROP DOMAIN {name}"])

    def _create(self, model: Any, schema_editor: Any) -> list[str]:
        name, column, plain, retype = self._domain(model, schema_editor)
        check = str(super().constraint_sql(model, schema_editor))
        # NULL passes anyway. Citus cannot hand on a check that asks for it.
        for test, result in ((" IS NULL", "FALSE"), (" IS NOT NULL", "TRUE"), ("", "VALUE")):
            check = check.replace(column + test, result)
        return [
            f"DROP DOMAIN IF EXISTS {name}",  # of a table or column that is no more
            f"CREATE DOMAIN {name} AS {plain}",
            f"{retype} {name}",
            f"ALTER DOMAIN {name} ADD {check}",
        ]

    def _domain(self, model: Any, schema_editor: Any) -> tuple[str, str, str, str]:
        """Return the domain, its column, the plain type, and the SQL before the column's type."""
        field = model._meta.get_field(self.field)
        names = (self.name, field.column, model._meta.db_table)
        name, column, table = map(schema_editor.quote_name, names)
        plain = field.db_type(schema_editor.connection)
        return name, column, plain, f"ALTER TABLE {table} ALTER COLUMN {column} TYPE"


def _run_but_last(schema_editor: Any, statements: list[str]) -> str:
    """Run all but the last statement, and return that. Citus takes them one by one only."""
    *others, last = statements
    for sql in others:
        schema_editor.execute(sql, params=None)
    return last
