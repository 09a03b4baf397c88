"""The meaning of a database error, on either database."""

from django.db import Error, InterfaceError, OperationalError
from psycopg.errors import LockNotAvailable, ReadOnlySqlTransaction


def is_outage(error: Error) -> bool:
    """Return whether the database is unavailable, rather than the code defective.

    A PostgreSQL primary that has been demoted refuses writes as read-only, which counts as
    an outage.
    """
    return isinstance(error, OperationalError | InterfaceError) or isinstance(
        error.__cause__, ReadOnlySqlTransaction
    )


def is_held(error: Error) -> bool:
    """Return whether another transaction held a row for longer than the lock timeout.

    Always false on SQLite, which does not lock rows.
    """
    return isinstance(error.__cause__, LockNotAvailable)
