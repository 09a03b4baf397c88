"""Several threads of a test, and their connections to the database."""

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Thread
from typing import Any

from django.db import connection, transaction


def together(calls: Iterable[Callable[[], Any]]) -> list[Any]:
    """Call all of them in a thread each, started together; return what they return."""
    calls = list(calls)
    start = threading.Barrier(len(calls))

    def run(call: Callable[[], Any]) -> Any:
        start.wait()
        try:
            return call()
        finally:
            connection.close()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls))


def in_background(work: Callable[[], Any]) -> Thread:
    """Start the work in a thread of its own; join it."""

    def run() -> None:
        try:
            work()
        finally:
            connection.close()

    thread = Thread(target=run)
    thread.start()
    return thread


@contextmanager
def held(hold: Callable[[], object]) -> Iterator[Callable[[], None]]:
    """Keep a transaction open that has done `hold`; the value ends it, committed."""
    begun, end = threading.Event(), threading.Event()

    def run() -> None:
        try:
            with transaction.atomic():
                hold()
                begun.set()
                end.wait(60)
        finally:
            connection.close()

    thread = threading.Thread(target=run)
    thread.start()
    assert begun.wait(60)

    def release() -> None:
        end.set()
        thread.join()

    try:
        yield release
    finally:
        release()
