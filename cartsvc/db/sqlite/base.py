"""Django's SQLite backend: files of mode 0600, fair turns for writers, an end to statements.

SQLite's own wait asks less and less often, down to ten times a second. Among eight writers
that never rest, one waited 1.4 s and now and then failed at 2 s, though nobody held the
lock for long. Here it waits 0.5 s at most among sixteen.

SQLite knows no statement timeout. Its progress handler looks at the clock instead: a statement
that is late is interrupted, and SQLite undoes the transaction if it was writing.

This leans on a private part, `_start_transaction_under_autocommit`, on Django 5.2 to 6.1.
If it moves, `tests/models/test_sqlite.py` fails: delete that method and raise
DB_LOCK_TIMEOUT.
"""

import math
import os
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from fcntl import LOCK_EX, flock
from typing import Any

from django.db import OperationalError
from django.db.backends.sqlite3 import base

from cartsvc.db.decimals import add_functions

PAUSE_SECONDS = 0.002
# Of SQLite's machine, between two looks at the clock: under a millisecond as a rule, and more
# than any statement of a small request takes.
INSTRUCTIONS = 10_000


class DatabaseWrapper(base.DatabaseWrapper):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.timeout = self.deadline = math.inf
        self.execute_wrappers.append(self._within_timeout)

    def get_connection_params(self) -> dict[str, Any]:
        """Return the driver's parameters, without our own: `statement_timeout`, seconds."""
        parameters = super().get_connection_params()
        self.timeout = parameters.pop("statement_timeout", 0) or math.inf
        return parameters

    def get_new_connection(self, conn_params: Any) -> Any:
        """Return a connection that computes exactly; see `cartsvc.db.decimals`.

        A file that is not there yet is made for its user only.
        """
        if not self.is_in_memory_db():
            # SQLite would take the umask's mode. It gives the -wal and -shm that of the file.
            with suppress(OSError):  # it is there, or SQLite says what is wrong
                os.close(os.open(conn_params["database"], os.O_CREAT | os.O_EXCL, 0o600))
        connection = super().get_new_connection(conn_params)
        add_functions(connection)
        connection.set_progress_handler(self._is_late, INSTRUCTIONS)
        return connection

    def _within_timeout(self, execute: Callable[..., Any], *args: Any) -> Any:
        """Begin a statement: a wrapper, as Django has them for each that it runs."""
        self.deadline = time.monotonic() + self.timeout
        return execute(*args)

    def _is_late(self) -> bool:
        return time.monotonic() > self.deadline

    @contextmanager
    def migrating(self) -> Iterator[None]:
        """Keep any other migration of the database waiting until this one is done.

        The lock is on a file beside the database: closing the database's own would drop
        the locks that SQLite holds on it.
        """
        if self.is_in_memory_db():
            yield
            return
        file = os.open(f"{self.settings_dict['NAME']}-migrating", os.O_CREAT | os.O_RDWR, 0o600)
        try:
            flock(file, LOCK_EX)
            yield
        finally:
            os.close(file)

    def _start_transaction_under_autocommit(self) -> None:
        """Ask for the write lock often, until the connection's `timeout` has passed."""
        timeout = self.settings_dict["OPTIONS"].get("timeout", 5.0)
        deadline = time.monotonic() + timeout
        # Both cursors are closed at once: a failed attempt's traceback keeps this frame for the
        # garbage collector, and if that resets a cursor's statement from another thread just
        # when this connection's INSERT fails, sqlite3 finds no error to raise: the row is lost.
        self.connection.execute("PRAGMA busy_timeout = 0").close()
        try:
            while True:
                try:
                    return super()._start_transaction_under_autocommit()  # type: ignore[misc]
                except OperationalError:
                    if time.monotonic() > deadline:
                        raise
                time.sleep(PAUSE_SECONDS * (1 + random.random()))  # noqa: S311
        finally:
            self.connection.execute(f"PRAGMA busy_timeout = {round(timeout * 1000)}").close()
