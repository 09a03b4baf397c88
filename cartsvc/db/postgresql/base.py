"""Django's PostgreSQL backend: an end to waiting, and a cheaper health check.

The framework sends `SELECT 1` before the first statement of every request. In a read, that is
one of two round trips. It is not needed: a server that ends a connection sends a message that
this backend can look for. `is_usable` is the framework's own hook, on Django 5.2 to 6.1.
`tests/models/test_postgresql.py` proves that an ended connection is replaced before use.
"""

import logging
import os
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import cached_property
from itertools import count
from select import POLLIN, poll
from typing import Any

from django.db import connections
from django.db.backends.postgresql import base
from psycopg import IsolationLevel, OperationalError

from cartsvc.db.deadlines import Connection, request_deadline

# psycopg reads no other timestamps, and a role may have a style of its own. libpq sends it as it
# connects, which a pooler understands, too.
os.environ["PGDATESTYLE"] = "ISO"

logger = logging.getLogger(__name__)

# Between two attempts at the lock of a migration.
PAUSE_SECONDS = 0.5


class DatabaseWrapper(base.DatabaseWrapper):
    """A PostgreSQL connection that ends in time and knows its health without a query."""

    def get_new_connection(self, conn_params: dict[str, Any]) -> Connection:
        self.isolation_level = IsolationLevel.READ_COMMITTED
        # Connecting counts as well. The framework does it as it leaves a transaction whose
        # connection has failed, and must not wait for a server that has just not answered.
        if request_deadline() <= time.monotonic():
            raise OperationalError("The request's time is up.")
        try:
            connection = Connection.connect(**conn_params)
        except OSError as error:  # psycopg's own, if no descriptor is left
            raise OperationalError(str(error)) from error
        connection.isolation_level = self.isolation_level  # whatever the role's own is
        return connection

    def is_usable(self) -> bool:
        """Return whether the server has left the connection open, and nothing has failed on it.

        Anything to read means that the server has ended it, because no query is pending. After an
        error the server may be read-only, or what was prepared may be outdated.
        """
        if self.connection is None or self.errors_occurred:
            return False
        waiting = poll()
        try:
            waiting.register(self.connection.fileno(), POLLIN)
        except OperationalError:  # closed on this side
            return False
        return not waiting.poll(0)

    @cached_property
    def is_distributed(self) -> bool:
        """Whether Citus has spread the tables over several servers."""
        self.ensure_connection()
        # Without Citus, the second query would be an error.
        return all(self.connection.execute(sql).fetchone()[0] for sql in (HAS_CITUS, HAS_SHARDS))

    @contextmanager
    def migrating(self) -> Iterator[None]:
        """Make every other migration of the database wait until the block ends.

        A transaction holds the lock, so that it also works through a pooler. The transaction
        has a connection of its own, which ends with the process, however that ends.
        """
        with closing(connections.create_connection(self.alias)) as other:
            other.set_autocommit(False)
            # A prepared statement leaves its snapshot open between two attempts.
            other.connection.prepare_threshold = None
            with other.cursor() as cursor:
                # Waiting for another migration may take longer than this allows.
                cursor.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
                # Nor may it wait for the lock: it would have a snapshot, and who builds an index
                # concurrently waits for all of those.
                for attempt in count():
                    cursor.execute(TRY_TO_LOCK)
                    if cursor.fetchone()[0]:
                        break
                    if not attempt:
                        logger.warning("Another migration of the database runs: waiting for it.")
                    time.sleep(PAUSE_SECONDS)
            yield


TRY_TO_LOCK = "SELECT pg_try_advisory_xact_lock(hashtext('cartsvc.migrate'))"
HAS_CITUS = "SELECT to_regclass('pg_dist_partition') IS NOT NULL"
HAS_SHARDS = "SELECT EXISTS (SELECT FROM pg_dist_partition WHERE partmethod = 'h')"
