"""Django's SQLite backend, with files of mode 0600."""

import os
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import Any

from django.db.backends.sqlite3 import base


class DatabaseWrapper(base.DatabaseWrapper):
    is_distributed = False

    def get_new_connection(self, conn_params: Any) -> Any:
        """Connect. A new database file is readable by its user only."""
        if not self.is_in_memory_db():
            # SQLite would create the file with the umask's mode. It gives the -wal and -shm
            # files the mode of the database file.
            with suppress(OSError):  # the file exists, or SQLite reports the error next
                os.close(os.open(conn_params["database"], os.O_CREAT | os.O_EXCL, 0o600))
        return super().get_new_connection(conn_params)

    def migrating(self) -> AbstractContextManager[None]:
        return nullcontext()  # a file has one operator, who migrates it once
