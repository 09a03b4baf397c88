from collections.abc import Callable
from threading import Thread
from typing import Any

from django.db import connection


def in_thread(work: Callable[[], Any]) -> Thread:
    def run() -> None:
        try:
            work()
        finally:
            connection.close()

    thread = Thread(target=run)
    thread.start()
    return thread
