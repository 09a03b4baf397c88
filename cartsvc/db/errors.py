"""The meaning of a database error, on either database."""

from django.db import Error, InterfaceError, OperationalError
from psycopg.errors import (
    FeatureNotSupported,
    IdleInTransactionSessionTimeout,
    InternalError,
    LockNotAvailable,
    ReadOnlySqlTransaction,
    TransactionTimeout,
    UndefinedColumn,
    UndefinedTable,
)

# The driver files these under its InternalError, with the defects: a primary that has been
# demoted reads only, and a server ends a session that stood still, or took long, in a transaction.
OUTAGES = (ReadOnlySqlTransaction, IdleInTransactionSessionTimeout, TransactionTimeout)
# The code is ahead of the database, whose migrations are not applied yet. `/readyz` says so.
AHEAD = (UndefinedColumn, UndefinedTable)


def is_outage(error: Error) -> bool:
    """Return whether the database is unavailable, rather than the code defective."""
    cause = error.__cause__
    return (
        isinstance(error, OperationalError | InterfaceError)
        or isinstance(cause, OUTAGES + AHEAD)
        or _is_outdated(cause)
        # Not the server's error but the driver's, which got more answers than it had asked for:
        # the server's last words, and then the pooler's.
        or (isinstance(cause, InternalError) and cause.sqlstate is None)
    )


def _is_outdated(cause: BaseException | None) -> bool:
    """Return whether a migration has changed a column's type since a statement was prepared."""
    # The message may be translated. The name of the server's function is not.
    return (
        isinstance(cause, FeatureNotSupported)
        and cause.diag.source_function == "RevalidateCachedQuery"
    )


def is_held(error: Error) -> bool:
    """Return whether another transaction held a row for longer than the lock timeout.

    Always false on SQLite, which does not lock rows.
    """
    return isinstance(error.__cause__, LockNotAvailable)
