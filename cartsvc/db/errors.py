"""What an error of the database means, whichever database it is."""

from django.db import Error, InterfaceError, OperationalError
from psycopg.errors import LockNotAvailable, ReadOnlySqlTransaction


def is_outage(error: Error) -> bool:
    """Tell an outage from a defect; a primary that was demoted answers that it only reads."""
    return isinstance(error, OperationalError | InterfaceError) or isinstance(
        error.__cause__, ReadOnlySqlTransaction
    )


def is_held(error: Error) -> bool:
    """Return whether somebody held a row for longer than the database waits for a lock.

    SQLite, which locks no rows, never says so.
    """
    return isinstance(error.__cause__, LockNotAvailable)
