"""Django's PostgreSQL backend, which looks at a kept connection instead of asking it."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from select import POLLIN, poll

from django.db import connections
from django.db.backends.postgresql import base
from psycopg import OperationalError


class DatabaseWrapper(base.DatabaseWrapper):
    def is_usable(self) -> bool:
        """Return whether the server has left the connection open.

        One that ends a connection says so, which can be read though nothing was asked.
        The framework's own `SELECT 1` is a round trip before every request's first
        statement, which finds out the same.
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
