"""Django's PostgreSQL backend, which looks at a kept connection instead of asking it."""

from select import POLLIN, poll

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
