"""Django's SQLite backend: files of mode 0600, and fair waiting for writers.

SQLite retries a busy lock less and less often. Of eight writers who never rest, some would then
wait for seconds or fail. Here a writer asks more often the longer it has waited, so that who comes
later seldom overtakes it. `_start_transaction_under_autocommit` and `debug_transaction` are private
parts of Django 5.2 to 6.1. If one moves, `tests/models/test_sqlite.py` fails: delete that method
and raise LOCK_SECONDS.
"""

import os
import random
import sqlite3
import time
from contextlib import AbstractContextManager, nullcontext, suppress
from datetime import datetime
from pathlib import Path

from django.db import transaction
from django.db.backends.sqlite3 import base
from django.db.backends.utils import debug_transaction
from django.utils import timezone

# Between two attempts of a writer that has just come, and of one that has waited for long.
FIRST_WAIT_SECONDS = 0.002
LAST_WAIT_SECONDS = 0.0005


class DatabaseWrapper(base.DatabaseWrapper):
    is_distributed = False
    # A SELECT that sorts may compute what it returns of rows that LIMIT then leaves out.
    computes_before_limiting = True

    def get_new_connection(self, conn_params: dict[str, object]) -> sqlite3.Connection:
        """Connect. A new database file is readable by its user only.

        Requests make none: where the file is missing it was moved, and its -wal would be emptied.
        """
        if not self.is_in_memory_db():
            name, must_exist = str(conn_params["database"]), self.settings_dict.get("MUST_EXIST")
            if not must_exist:
                # SQLite would create the file with the umask's mode. It gives the -wal and -shm
                # files the mode of the database file.
                with suppress(OSError):  # the file exists, or SQLite reports the error next
                    os.close(os.open(name, os.O_CREAT | os.O_EXCL, 0o600))
            file = f"{Path(name).absolute().as_uri()}?mode={'rw' if must_exist else 'rwc'}"
            conn_params = {**conn_params, "database": file}
        return super().get_new_connection(conn_params)

    def exchange(self, *, commit: bool) -> AbstractContextManager[None]:
        return nullcontext()  # it is in this process

    def clock(self) -> None:
        return None  # it is this machine's

    def oldest_write(self) -> datetime:
        """Return now, once no transaction that has written runs: there is one at a time."""
        with transaction.atomic(self.alias):  # takes the lock of writers
            return timezone.now()

    def migrating(self) -> AbstractContextManager[None]:
        return nullcontext()  # a file has one operator, who migrates it once

    def _start_transaction_under_autocommit(self) -> None:
        """Retry for the write lock at ever shorter intervals until the connection's `timeout`."""
        timeout = self.settings_dict["OPTIONS"].get("timeout", 5.0)
        end, wait = time.monotonic() + timeout, FIRST_WAIT_SECONDS
        # Close all cursors at once. An error's traceback would keep an open one alive until the
        # garbage collector runs, perhaps in another thread. If it then resets its statement just as
        # an INSERT on this connection fails, sqlite3 finds no error to raise, and the row is lost
        # silently. Django's own cursors would also take several times as long for an attempt.
        self.connection.execute("PRAGMA busy_timeout = 0").close()
        begin = f"BEGIN {self.transaction_mode}"  # type: ignore[attr-defined]
        try:
            with debug_transaction(self, begin), self.wrap_database_errors:
                while True:
                    try:
                        return self.connection.execute(begin).close()
                    except sqlite3.OperationalError:
                        if time.monotonic() > end:
                            raise
                    time.sleep(wait * (1 + random.random()))  # noqa: S311
                    wait = max(LAST_WAIT_SECONDS, wait * 0.8)
        finally:
            self.connection.execute(f"PRAGMA busy_timeout = {round(timeout * 1000)}").close()
