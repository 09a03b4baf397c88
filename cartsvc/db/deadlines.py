"""How long the database may keep one request waiting, with all its statements together.

The clock starts when a request first waits, because its body may take any time to arrive.
What runs outside of a request is not timed.

A frozen server's kernel goes on acknowledging what it is sent, and none of the server's own
timeouts runs. None bounds a COMMIT that waits for its standby either. So this side does.

It leans on a part of psycopg 3.3 that is not documented: `wait`, through which every exchange with
the server goes, takes a timeout that nobody passes. If it moves, `tests/api/test_outage.py` fails.
"""

import math
from contextvars import ContextVar
from functools import cache, partial
from time import monotonic
from typing import Any

import psycopg
from django.conf import settings
from django.db import connection
from psycopg.errors import Diagnostic

from cartsvc.db.database_url import REQUEST_SECONDS

# When the request's time is up. The middleware sets None: it has not waited yet.
deadline: ContextVar[float | None] = ContextVar("deadline", default=math.inf)


def request_deadline() -> float:
    """Return when the request's time is up: in REQUEST_SECONDS, if it has not waited yet."""
    end = deadline.get()
    if end is None:
        end = monotonic() + REQUEST_SECONDS
        deadline.set(end)
    return end


class Connection(psycopg.Connection[Any]):
    """A connection to PostgreSQL that ends itself when the request's time is up.

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
        end = request_deadline()
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


@cache
def connect_for_requests() -> None:
    """Let this process connect as requests do: in time, and through the pooler if there is one.

    What serves requests calls this before it connects. All else has no timeouts.
    """
    connection.close()
    connection.settings_dict.update(settings.DATABASE_OF_REQUESTS)  # which all threads share
