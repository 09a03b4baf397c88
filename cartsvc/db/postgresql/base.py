"""Django's PostgreSQL backend, which looks at a kept connection instead of asking it.

The framework asks `SELECT 1` before the first statement of every request. That is a round
trip, one of two in a read, to learn what the server says by itself when it ends a
connection. `is_usable` is the framework's own hook for backends, on Django 5.2 to 6.1;
`tests/models/test_postgresql.py` holds that an ended connection is replaced before use.
"""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from select import POLLIN, poll

from django.db import connections
from django.db.backends.postgresql import base
from psycopg import OperationalError


class DatabaseWrapper(base.DatabaseWrapper):
    def is_usable(self) -> bool:
        """Return whether the server has left the connection open.

        A server that ends a connection says so: there is something to read, though nothing
        was asked.
        """
        if self.connection is None:
            return False
        waiting = poll()
        try:
            waiting.register(self.connection.fileno(), POLLIN)
        except OperationalError:  # closed on this side
            return False
        return not waiting.poll(0)

    @contextmanager
    def migrating(self) -> Iterator[None]:
        """Keep any other migration of the database waiting until this one is done.

        The lock is a transaction's, so that it holds through a pooler as well, and that of
        a connection of its own: it ends with the process, whatever becomes of that.
        """
        with closing(connections.create_connection(self.alias)) as other:
            other.set_autocommit(False)
            with other.cursor() as cursor:
                # A migration takes its time, and may wait as long for another.
                for timeout in (
                    "lock_timeout",
                    "statement_timeout",
                    "idle_in_transaction_session_timeout",
                ):
                    cursor.execute(f"SET LOCAL {timeout} = 0")
                cursor.execute("SELECT pg_advisory_xact_lock(hashtext('cartsvc.migrate'))")
            yield
