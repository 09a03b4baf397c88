"""A transaction of the framework whose statements go to the database several at a time."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Self

from django.db import DEFAULT_DB_ALIAS, connections, transaction

from cartsvc.db.compiled_statements import (
    AwaitMoves,
    Cursor,
    Insert,
    MoveRows,
    Rows,
    Select,
    Statement,
)

# A statement and its values.
Sent = tuple[Select | Statement | Insert | MoveRows | AwaitMoves, Mapping[str, Any]]


@dataclass
class Transaction:
    """A block of `transaction.atomic`: `on_commit`, nesting and savepoints work in it as in any.

        with Transaction.begin() as transaction:
            [rows] = transaction.round_trip([(SELECT, values)])
            transaction.round_trip([(UPDATE, values)], commit=True)

    One that is not begun has no block: each of its round trips is a transaction of the database.
    """

    is_outermost: bool = False
    is_over: bool = False
    cursors: list[Cursor] = field(default_factory=list)

    @classmethod
    @contextmanager
    def begin(cls) -> Iterator[Self]:
        begun = cls(is_outermost=transaction.get_autocommit())
        with transaction.atomic():
            try:
                yield begun
            finally:
                for cursor in begun.cursors:
                    cursor.close()

    def round_trip(self, sent: Iterable[Sent], *, commit: bool = False) -> list[Rows]:
        """Run the statements in their order, and return the rows of each SELECT.

        PostgreSQL gets all of them at once, and answers once. With `commit`, they are the last
        ones, and COMMIT goes with them if no other block is around: the framework's own has nothing
        left to do then.
        """
        if self.is_over:
            raise RuntimeError("What follows COMMIT would be a transaction of its own.")
        self.is_over = commit
        connection: Any = connections[DEFAULT_DB_ALIAS]  # of cartsvc.db
        cursors, selects = self.cursors, list[Select]()
        if not cursors:
            cursors.append(connection.cursor())
        with (
            connection.wrap_database_errors,
            connection.exchange(commit=commit and self.is_outermost),
        ):
            for statement, values in sent:
                # Rows that are not fetched yet need a cursor of their own.
                if len(cursors) == len(selects):
                    cursors.append(connection.cursor())
                statement.send(cursors[len(selects)], values)
                if isinstance(statement, Select):
                    selects.append(statement)
        return [select.received(cursor) for select, cursor in zip(selects, cursors, strict=False)]
