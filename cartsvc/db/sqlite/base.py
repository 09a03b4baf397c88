"""Django's SQLite backend: files of mode 0600, and fair waiting for writers.

SQLite retries a busy lock less and less often. Of eight writers who never rest, some would then
wait for seconds or fail. `_start_transaction_under_autocommit` is a private part of Django 5.2 to
6.1. If it moves, `tests/models/test_sqlite.py` fails: delete that method and raise LOCK_SECONDS.
"""

import os
import random
import sqlite3
import time
from contextlib import AbstractContextManager, nullcontext, suppress
from datetime import datetime
from pathlib import Path

from django.db import OperationalError, transaction
from django.db.backends.sqlite3 import base
from django.utils import timezone

RETRY_SECONDS = 0.002


class DatabaseWrapper(base.DatabaseWrapper):
    is_distributed = False

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

    def oldest_write(self) -> datetime:
        """Return now, once no transaction that has written runs: there is one at a time."""
        with transaction.atomic(self.alias):  # takes the lock of writers
            return timezone.now()

    def migrating(self) -> AbstractContextManager[None]:
        return nullcontext()  # a file has one operator, who migrates it once

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
                time.sleep(RETRY_SECONDS * (1 + random.random()))  # noqa: S311
        finally:
            self.connection.execute(f"PRAGMA busy_timeout = {round(timeout * 1000)}").close()
