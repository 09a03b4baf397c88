"""Django's SQLite backend: files of mode 0600, fair turns for writers, an end to statements.

SQLite retries a busy lock less and less often, down to ten times a second. With eight busy
writers, one waited 1.4 s and sometimes failed at 2 s, though no writer held the lock for
long. Here, the longest wait among sixteen writers is 0.5 s.

SQLite knows no statement timeout. Its progress handler looks at the clock instead: a statement
that is late is interrupted, and SQLite undoes the transaction if it was writing. That costs less
than 1 % of a request's instructions.

This leans on a private part, `_start_transaction_under_autocommit`, on Django 5.2 to 6.1.
If it moves, `tests/models/test_sqlite.py` fails: delete that method and raise
LOCK_SECONDS.
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

PAUSE_SECONDS = 0.002
# Virtual machine instructions between two looks at the clock: usually under a millisecond,
# and more than any statement of a small request takes.
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
        """Return a connection whose statements end in time.

        A new database file is readable by its user only.
        """
        if not self.is_in_memory_db():
            # SQLite would create the file with the umask's mode. It gives the -wal and -shm
            # files the mode of the database file.
            with suppress(OSError):  # the file exists, or SQLite reports the error next
                os.close(os.open(conn_params["database"], os.O_CREAT | os.O_EXCL, 0o600))
        connection = super().get_new_connection(conn_params)
        connection.set_progress_handler(self._is_late, INSTRUCTIONS)
        return connection

    def _within_timeout(self, execute: Callable[..., Any], *args: Any) -> Any:
        """Set the deadline of the statement that is about to run: a Django execute wrapper."""
        self.deadline = time.monotonic() + self.timeout
        return execute(*args)

    def _is_late(self) -> bool:
        return time.monotonic() > self.deadline

    def only_reads(self) -> bool:
        """Ask the connection whether it refuses to write."""
        with self.cursor() as cursor:
            cursor.execute("PRAGMA query_only")
            return cursor.fetchone() == (1,)

    @contextmanager
    def migrating(self) -> Iterator[None]:
        """Make every other migration of the database wait until the block ends.

        The lock is on a separate file beside the database. Opening and closing the database
        file itself would drop SQLite's own locks on it.
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
        """Retry for the write lock at short intervals until the connection's `timeout`."""
        timeout = self.settings_dict["OPTIONS"].get("timeout", 5.0)
        deadline = time.monotonic() + timeout
        # Close both cursors at once. The traceback of a failed attempt keeps this frame alive
        # until the garbage collector runs, perhaps in another thread. If it then resets an open
        # cursor's statement just as an INSERT on this connection fails, sqlite3 finds no error
        # to raise, and the row is lost silently.
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
