"""The meaning of a database error, on either database."""

import sqlite3

from django.db import Error, IntegrityError, InterfaceError, OperationalError
from django.db.models import Model
from psycopg import errors as postgresql

from cartsvc.db.applied_migrations import is_migrated

# The driver files these under other kinds, with the defects.
OUTAGES = (
    # A primary that has been demoted reads only.
    postgresql.ReadOnlySqlTransaction,
    postgresql.IdleInTransactionSessionTimeout,
    postgresql.TransactionTimeout,
    # The role owns the database, but not its tables.
    postgresql.InsufficientPrivilege,
    # A migration has changed a column's type since a statement was prepared.
    postgresql.FeatureNotSupported,
)


def is_outage(error: Error) -> bool:
    """Return whether the database is unavailable, rather than the code defective."""
    if names_what_is_missing(error):
        # The code may be ahead of the database, whose migrations are not applied yet.
        return not is_migrated()
    cause = error.__cause__
    return (
        isinstance(error, OperationalError | InterfaceError)
        or isinstance(cause, OUTAGES)
        # Without a code it is the driver's, which got the server's last words and the pooler's.
        # With one it is Citus's, which has lost a worker at COMMIT.
        or (isinstance(cause, postgresql.InternalError) and cause.sqlstate in (None, "XX000"))
    )


def names_what_is_missing(error: Error) -> bool:
    """Return whether a statement names a table or a column that is not there."""
    cause = error.__cause__
    if isinstance(cause, sqlite3.Error):  # which has one code for all errors in a statement
        return getattr(cause, "sqlite_errorcode", None) == sqlite3.SQLITE_ERROR
    return isinstance(cause, postgresql.UndefinedColumn | postgresql.UndefinedTable)


def is_row_held(error: Error) -> bool:
    """Return whether another transaction held a row for too long. SQLite does not lock rows."""
    cause = error.__cause__
    # Of a row, PostgreSQL says in which table it is. Of a table it gives no context.
    return isinstance(cause, postgresql.LockNotAvailable) and cause.diag.context is not None


def is_key_taken(error: IntegrityError, model: type[Model]) -> bool:
    """Return whether a row of the model has the primary key already."""
    cause, table = error.__cause__, model._meta.db_table
    if isinstance(cause, postgresql.Error):
        # Citus adds a shard's number, and tells the name in the message alone.
        quoted = str(cause.diag.message_primary).partition('"')[2]
        return (cause.diag.constraint_name or quoted).startswith(f"{table}_pkey")
    key = ", ".join(f"{table}.{field.column}" for field in model._meta.pk_fields)
    return str(error) == f"UNIQUE constraint failed: {key}"
