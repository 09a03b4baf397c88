"""Django's PostgreSQL backend: an end to waiting, one send an exchange, a cheaper health check.

A frozen server's kernel goes on acknowledging what it is sent, and none of the server's own
timeouts runs. None bounds a COMMIT that waits for its standby either. So this side does: all
statements of a request together have REQUEST_SECONDS, from when it first waits. This leans on a
part of psycopg 3.3 that is not documented: `wait`, through which every exchange goes, takes a
timeout that nobody passes. If it moves, `tests/api/test_outage.py` fails.

psycopg's pipeline sends each statement by itself, and each send wakes the server. Ours keeps them
until the pipeline ends. This leans on private parts of psycopg 3.3 that `Exchange` names. If one
moves, `tests/models/test_queries.py` fails: let `DatabaseWrapper.exchange` return
psycopg's own pipeline, and delete the class.
"""

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import datetime
from functools import cached_property, partial
from select import POLLIN, poll
from typing import Any, Self

import psycopg
from django.db import connections
from django.db.backends.postgresql import base
from django.db.backends.postgresql.schema import DatabaseSchemaEditor
from psycopg import IsolationLevel, OperationalError, Pipeline
from psycopg.abc import PQGen
from psycopg.errors import Diagnostic
from psycopg.generators import send
from psycopg.pq import TransactionStatus

from cartsvc.db.time_limits import request_deadline

IDLE = TransactionStatus.IDLE  # no transaction is open

# Between two attempts at the lock of a migration.
PAUSE_SECONDS = 0.5


class Exchange(Pipeline):
    """A pipeline whose statements wait for the end, or for the first rows that are fetched.

    BEGIN goes with the first one if it is due, and COMMIT with the last one if the exchange
    `commits`. What does not fit into the socket waits until there is room. Answers are read
    meanwhile, because the server may not read on before it can write.
    """

    _conn: "Connection"
    commits = False

    def __enter__(self) -> Self:
        server = self._conn
        if not server.autocommit and self.pgconn.transaction_status == IDLE:
            # psycopg's own BEGIN would wait for its answer. Its commit ends this one as well.
            server.autocommit = True
            self._enqueue(b"BEGIN ISOLATION LEVEL READ COMMITTED")
        # psycopg's own would wait, though nothing has been sent.
        self.pgconn.enter_pipeline_mode()
        self.level, server._pipeline = 1, self  # noqa: SLF001
        return self

    def __exit__(self, *raised: Any) -> None:
        server = self._conn
        if self.commits and raised[0] is None:
            server.warnings.clear()
            self._enqueue(b"COMMIT")
        try:
            # psycopg's own would ask for the answers in a message of its own.
            server.wait(self._sync_gen())
        except psycopg.Error:
            if raised[0] is None:  # or it follows from what was raised
                raise
        finally:
            self._exit(raised[1])
            server._pipeline = None  # noqa: SLF001

    def _enqueue(self, command: bytes) -> None:
        self.command_queue.append(partial(self.pgconn.send_query_params, command, None))
        self.result_queue.append(None)

    def _communicate_gen(self) -> PQGen[None]:
        yield from ()

    def _fetch_gen(self, *, flush: bool) -> PQGen[None]:
        while self.command_queue:
            self.command_queue.popleft()()
        yield from send(self.pgconn)
        yield from super()._fetch_gen(flush=flush)


class Connection(psycopg.Connection):
    """A connection to PostgreSQL that ends itself when the request's time is up.

    It does not ask the server to cancel: a frozen one would not answer that either.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.warnings: list[str] = []
        self.add_notice_handler(partial(_keep_warning, self.warnings))

    def wait(self, gen: Any, interval: float = 0.1, timeout: float | None = None) -> Any:
        end = request_deadline()
        try:
            return psycopg.Connection.wait(self, gen, interval, end - time.monotonic())
        except OperationalError:
            if time.monotonic() >= end:
                self.pgconn.finish()
            raise

    def _set_autocommit(self, value: bool) -> None:
        # psycopg's own would wait, though nothing is sent.
        for _ in self._set_autocommit_gen(value):
            raise NotImplementedError("It does not change within an exchange.")
        self.warnings.clear()

    def commit(self) -> None:
        """Fail if what is committed on this server may be lost in a failover.

        The server has given up waiting for its standby then, and says so in a mere warning.
        """
        # After an exchange that commits, psycopg's own would wait, though nothing is left to do.
        if self.pgconn.transaction_status != IDLE:
            self.warnings.clear()
            super().commit()
        if self.warnings:
            raise OperationalError(self.warnings[0])


def _keep_warning(warnings: list[str], notice: Diagnostic) -> None:
    # Only while it is handled can a notice be read.
    if notice.severity_nonlocalized == "WARNING":
        warnings.append(str(notice.message_primary))


class SchemaEditor(DatabaseSchemaEditor):
    connection: "DatabaseWrapper"

    def __enter__(self) -> Self:
        super().__enter__()
        if self.atomic_migration and self.connection.is_distributed:
            # Citus makes no domain in a transaction that has changed shards at the same time.
            self.execute("SET LOCAL citus.multi_shard_modify_mode = 'sequential'")
        return self


class DatabaseWrapper(base.DatabaseWrapper):
    SchemaEditorClass = SchemaEditor
    computes_before_limiting = False

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

        Django asks it with `SELECT 1`, one of a read's two round trips. Anything to read means that
        the server has ended the connection, because no query is pending. After an error it may be
        read-only, or what was prepared may be outdated.
        """
        if self.connection is None or self.errors_occurred:
            return False
        waiting = poll()
        try:
            waiting.register(self.connection.fileno(), POLLIN)
        except OperationalError:  # closed on this side
            return False
        return not waiting.poll(0)

    def exchange(self, *, commit: bool) -> Exchange:
        """Return a context whose statements are sent together, and answered at its end.

        With `commit`, COMMIT is sent along. Citus needs the framework's own, after the answers.
        """
        exchange = Exchange(self.connection)
        exchange.commits = commit and not self.is_distributed
        return exchange

    @cached_property
    def is_distributed(self) -> bool:
        """Whether Citus has spread the tables over several servers."""
        self.ensure_connection()
        with self.wrap_database_errors:
            # Without Citus, the second query would be an error.
            return all(
                self.connection.execute(sql).fetchone()[0] for sql in (HAS_CITUS, HAS_SHARDS)
            )

    def clock(self) -> Any:
        with self.cursor() as cursor:
            return cursor.execute("SELECT clock_timestamp()").fetchone()[0]

    def oldest_write(self) -> datetime:
        """Return when the oldest transaction began that has written and still runs, or now.

        One whose client is gone may wait for its standby much longer than any request. What hides
        other roles' transactions would hide their writes: the service has one role.
        """
        sql = OLDEST_WRITE_OF_ALL if self.is_distributed else OLDEST_WRITE_HERE
        with self.cursor() as cursor:
            cursor.execute(sql)
            oldest: datetime = cursor.fetchone()[0]
        return oldest

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
            # Waiting for another migration may take longer than this allows.
            other.connection.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
            # A statement that waits for the lock would have a snapshot, and who builds an index
            # concurrently waits for all of those.
            while not other.connection.execute(TRY_TO_LOCK).fetchone()[0]:
                time.sleep(PAUSE_SECONDS)
            yield


TRY_TO_LOCK = "SELECT pg_try_advisory_xact_lock(hashtext('cartsvc.migrate'))"
HAS_CITUS = "SELECT to_regclass('pg_dist_partition') IS NOT NULL"
HAS_SHARDS = "SELECT EXISTS (SELECT FROM pg_dist_partition WHERE partmethod = 'h')"
# The time of the statement comes before the look at the transactions.
OLDEST_WRITE_HERE = """
    SELECT least(
        statement_timestamp(),
        (SELECT min(xact_start) FROM pg_stat_activity WHERE backend_xid IS NOT NULL
            AND datname = current_database() AND pid != pg_backend_pid()),
        (SELECT min(prepared) FROM pg_prepared_xacts WHERE database = current_database()))"""
OLDEST_WRITE_OF_ALL = f"""
    SELECT min(result::timestamptz) FROM run_command_on_all_nodes($${OLDEST_WRITE_HERE}$$)
    WHERE success"""
