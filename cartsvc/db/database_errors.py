"""The meaning of a database error, on either database."""

import re
import sqlite3

from django.db import Error, InterfaceError, OperationalError
from psycopg import errors as postgresql

from cartsvc.db.applied_migrations import is_migrated

# The driver files these under other kinds, with the defects.
OUTAGES = (
    # A primary that has been demoted reads only.
    postgresql.ReadOnlySqlTransaction,
    # A server ends a session that stood still, or took long, in a transaction.
    postgresql.IdleInTransactionSessionTimeout,
    postgresql.TransactionTimeout,
    # The role owns the database, but not its tables.
    postgresql.InsufficientPrivilege,
    # A migration has changed a column's type since a statement was prepared.
    postgresql.FeatureNotSupported,
)


def is_outage(error: Error) -> bool:
    """Return whether the database is unavailable, rather than the code defective."""
    if _names_what_is_missing(error):
        # The code may be ahead of the database, whose migrations are not applied yet.
        return not is_migrated()
    cause = error.__cause__
    return (
        isinstance(error, OperationalError | InterfaceError)
        or isinstance(cause, OUTAGES)
        # Not the server's error but the driver's, which got more answers than it had asked for:
        # the server's last words, and then the pooler's. With a code it is Citus's, which has lost
        # a worker at COMMIT.
        or (isinstance(cause, postgresql.InternalError) and cause.sqlstate in (None, "XX000"))
    )


def _names_what_is_missing(error: Error) -> bool:
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


def is_refused_by_server(error: Error) -> bool:
    """Return whether the server refuses who connects, so that it would refuse again."""
    return any(re.search(text, str(error)) for text in REFUSED)


def remedy(error: Error) -> str | None:
    """Return what makes the database usable, if that is known."""
    if isinstance(error.__cause__, postgresql.LockNotAvailable):
        return "Another session holds a lock: find it in pg_stat_activity, end it, and try again."
    return next((told for text, told in REMEDIES.items() if re.search(text, str(error))), None)


# What a pooler says that takes no settings.
UNSUPPORTED = "unsupported startup parameter"
REFUSED = {
    UNSUPPORTED: "DATABASE_URL leads to a pooler: set DATABASE_ADMIN_URL to the database itself.",
    'database ".*" does not exist': "Create the database with createdb, or correct DATABASE_URL.",
    'role ".*" does not exist': "Create the role with createuser, or correct DATABASE_URL.",
    "authentication failed|no password": "Correct DATABASE_URL: the role and the password in it.",
}
REMEDIES = REFUSED | {
    "denied for (table|sequence)": "Let the role own the tables: REASSIGN OWNED BY … TO …",
    "permission denied": "Let the role own the database: ALTER DATABASE … OWNER TO …",
    "must be owner": "Let the role own the tables: REASSIGN OWNED BY … TO …",
    "unable to open": "Make the folder of the file in DATABASE_URL, and let this user write to it.",
    "readonly database": "Let this user write to the file in DATABASE_URL, and to its folder.",
    "read-only transaction": "The database takes no changes: it is a standby, or set to only read.",
    "too many .*connections|connection slots": "All connections are taken: end some.",
    "database is locked": "Another process writes to the file: wait for it, or end it.",
    "disk is full|No space left": "Make room on the disk of the database.",
    "disk I/O error": "DATABASE_URL names no file of a disk, or the disk has failed: see dmesg.",
    "not a database": "DATABASE_URL names a file that SQLite has not made: name another one.",
}
