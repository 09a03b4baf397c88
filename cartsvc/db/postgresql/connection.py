"""psycopg's connection, which gives up a server that does not answer in time.

A frozen server's kernel goes on acknowledging what it is sent, and none of the server's own
timeouts runs. None bounds a COMMIT that waits for its standby either. So this side does.

It leans on a part of psycopg 3.3 that is not documented: `wait`, through which every exchange with
the server goes, takes a timeout that nobody passes. If it moves, `tests/api/test_outage.py` fails.
"""

from functools import partial
from time import monotonic
from typing import Any

import psycopg
from psycopg.errors import Diagnostic

from cartsvc.db.deadlines import deadline, request_deadline


class Connection(psycopg.Connection[Any]):
    """A connection that ends itself when the request's time is up.

    It does not ask the server to cancel: a frozen one would not answer that either.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.warnings: list[str] = []
        self.add_notice_handler(partial(_keep_warning, self.warnings))

    def wait(self, gen: Any, interval: float = 0.1, timeout: float | None = None) -> Any:
        """Complete an exchange with the server in time.

        After that, nobody knows whether the server did what it was asked: all of it, or nothing.
        """
        end = deadline.get() or request_deadline()
        try:
            return psycopg.Connection.wait(self, gen, interval, end - monotonic())
        except psycopg.OperationalError:
            if monotonic() >= end:
                self.pgconn.finish()
            raise

    def commit(self) -> None:
        """Fail if what is committed on this server may be lost in a failover.

        The server has given up waiting for its standby then, and says so in a mere warning.
        """
        self.warnings.clear()
        super().commit()
        if self.warnings:
            raise psycopg.OperationalError(self.warnings[0])


def _keep_warning(warnings: list[str], notice: Diagnostic) -> None:
    # Only while it is handled can a notice be read.
    if notice.severity_nonlocalized == "WARNING":
        warnings.append(str(notice.message_primary))
