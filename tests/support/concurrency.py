"""Threads of a test, which close their database connections when they end."""

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Thread
from typing import Any

from django.db import connection, transaction


def closing(call: Callable[[], Any]) -> Callable[[], Any]:
    """Return the call, which closes its thread's connection at the end."""

    def run() -> Any:
        try:
            return call()
        finally:
            connection.close()

    return run


def together(calls: Iterable[Callable[[], Any]]) -> list[Any]:
    """Start all calls at the same moment, each in its own thread. Return their results."""
    calls = list(calls)
    start = threading.Barrier(len(calls))

    def run(call: Callable[[], Any]) -> Any:
        start.wait()
        return closing(call)()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls))


def in_background(work: Callable[[], Any]) -> Thread:
    """Start the work in a new thread and return the thread. The caller must join it."""
    thread = Thread(target=closing(work))
    thread.start()
    return thread


@contextmanager
def open_transaction(hold: Callable[[], object]) -> Iterator[Callable[[], None]]:
    """Keep a transaction open that has done `hold`; the value ends it, committed."""
    begun, end = threading.Event(), threading.Event()

    def keep() -> None:
        with transaction.atomic():
            hold()
            begun.set()
            end.wait(60)

    thread = in_background(keep)
    assert begun.wait(60)

    def release() -> None:
        end.set()
        thread.join()

    try:
        yield release
    finally:
        release()


def waiting_for_a_lock() -> int:
    """Return how many sessions of this database wait for one, on PostgreSQL."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity"
            " WHERE datname = current_database() AND wait_event_type = 'Lock'"
        )
        return int(cursor.fetchone()[0])
