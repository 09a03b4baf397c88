"""Django's PostgreSQL backend, which looks at a kept connection instead of asking it.

The framework asks `SELECT 1` before the first statement of every request. That is a round
trip, one of two in a read, to learn what the server says by itself when it ends a
connection. `is_usable` is the framework's own hook for backends, on Django 5.2 to 6.1;
`tests/models/test_postgresql.py` holds that an ended connection is replaced before use.
"""

from select import POLLIN, poll

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
