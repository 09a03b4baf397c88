"""psycopg's connection, which gives up a server that does not answer in time.

A frozen server's kernel goes on acknowledging what it is sent, and none of the server's own
timeouts runs. None bounds a COMMIT that waits for its standby either. So this side does.

It leans on parts of psycopg 3.3 that are not documented: `wait`, through which every exchange
with the server goes and which takes a timeout that nobody passes, `_connect_gen`, which connects
to one host, and how a pipeline ends. If one moves, `tests/models/test_postgresql.py` or
`tests/api/test_outage.py` fails.
"""

import math
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from functools import partial
from time import monotonic
from typing import Any, Self

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.errors import ConnectionTimeout, Diagnostic
from psycopg.pq import ConnStatus

from cartsvc.db.deadlines import deadline, start_clock


class Connection(psycopg.Connection[Any]):
    """A connection that ends itself when the request's time is up.

    It does not ask the server to cancel: a frozen one would not answer that either.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.warnings: list[str] = []
        self.add_notice_handler(partial(_keep_warning, self.warnings))

    @classmethod
    def _connect_gen(cls, conninfo: str = "") -> Generator[Any, Any, Self]:
        """Try one host for its `connect_timeout`. psycopg would make two seconds of one."""
        seconds = float(conninfo_to_dict(conninfo).get("connect_timeout") or 0) or math.inf
        end = min(monotonic() + seconds, start_clock())
        attempt = super()._connect_gen(conninfo)
        try:
            state = next(attempt)
            while True:
                ready = yield state
                if monotonic() >= end:
                    raise ConnectionTimeout("The server did not answer in time.")
                state = attempt.send(ready)
        except StopIteration as connected:
            return connected.value

    def wait(self, gen: Any, interval: float = 0.1, timeout: float | None = None) -> Any:
        """Complete an exchange with the server in time.

        After that, nobody knows whether the server did what it was asked: all of it, or nothing.
        """
        end = deadline.get() or start_clock()
        try:
            return psycopg.Connection.wait(self, gen, interval, end - monotonic())
        except psycopg.OperationalError:
            if monotonic() >= end:
                self.pgconn.finish()
            raise

    @contextmanager
    def pipeline(self) -> Iterator[psycopg.Pipeline]:
        """Send what the block executes together; see `Pipeline`. Within another, wait for it."""
        if self._pipeline is not None:
            yield self._pipeline
            self._pipeline.sync()
            return
        self._pipeline = Pipeline(self)
        with self._sure(), super().pipeline() as pipeline:
            yield pipeline

    def commit(self) -> None:
        with self._sure():
            super().commit()

    @contextmanager
    def _sure(self) -> Iterator[None]:
        """Fail if what is committed on this server may be lost in a failover.

        The server has given up waiting for its standby then, and says so in a mere warning.
        """
        self.warnings.clear()
        yield
        if self.warnings:
            raise psycopg.OperationalError(self.warnings[0])


class Pipeline(psycopg.Pipeline):
    """A pipeline that ends with its Sync.

    psycopg sends a Flush behind it. A server that has received anything since its last answer
    ends no transaction that stands still (`idle_in_transaction_session_timeout`): a worker that
    is frozen between the lock and the write would hold the row for ever.
    """

    def _exit_gen(self) -> Generator[Any, Any, None]:
        if self.pgconn.status != ConnStatus.OK:  # `wait` has ended it
            return
        self._enqueue_sync()
        try:
            yield from self._communicate_gen()
        finally:
            yield from self._fetch_gen(flush=False)


def _keep_warning(warnings: list[str], notice: Diagnostic) -> None:
    # Only while it is handled can a notice be read.
    if notice.severity_nonlocalized == "WARNING":
        warnings.append(str(notice.message_primary))
