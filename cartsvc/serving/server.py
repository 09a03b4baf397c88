"""The server, Granian, run in the process that calls `run`: `manage.py serve`.

The parent loads the application, forks the workers that serve it, replaces those that die, and
handles the signals. A worker serves until it gets SIGTERM or its parent is gone.
"""

import gc
import multiprocessing
import os
import signal
import socket
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread, Timer
from types import FrameType
from typing import Any

from django.conf import settings
from django.db import DatabaseError, connection, connections
from django.utils.module_loading import import_string
from granian.constants import HTTPModes, Interfaces
from granian.http import HTTP1Settings
from granian.server import MPServer

from cartsvc.serving.drain import Drainable
from cartsvc.serving.logs import lose_lines

# For the head of a request to arrive, and between two requests of one connection.
HEAD_TIMEOUT_SECONDS = 10
# For running requests to finish when the server stops.
GRACEFUL_TIMEOUT_SECONDS = 30
# What a connection may buffer. The server itself refuses a head of more than twice as many bytes.
MAX_BUFFER_BYTES = 64 * 1024
# How long a thread may run Python while another one waits to run. Beside a large request, a small
# one waits as long after each answer of the database: Python's own 5 ms would be too long.
SWITCH_INTERVAL_SECONDS = 0.001
# Idle threads are kept as long as Granian can: one that ends closes its database connection.
THREAD_IDLE_TIMEOUT_SECONDS = 600
# Granian gives up when a worker dies twice within seconds. The parent starts it anew, but ends when
# it has given up so often within this time, so that whoever started the service sees it.
CRASH_LOOPS = 5
CRASH_LOOPS_SECONDS = 120
# A worker blocks these. It waits for SIGTERM in a thread of its own. A terminal sends the other two
# to all processes, and only the parent is to handle them.
WORKER_SIGNALS = {signal.SIGTERM, signal.SIGINT, signal.SIGHUP}


def run(bind: str, prepare: Callable[[], None]) -> None:
    """Serve at HOST:PORT or unix:PATH until SIGTERM or SIGINT; SIGHUP replaces the workers.

    SIGTERM drains first, for DRAIN_SECONDS. A second one stops at once, as SIGINT does.
    Each worker calls `prepare` before it serves. Call this within `shared_counts`.
    """
    lose_lines()
    # The application is loaded once, before the workers are forked, so that they share its memory.
    # The garbage collector must leave that memory alone: it writes to whatever it looks at.
    application = import_string(settings.WSGI_APPLICATION)
    connections.close_all()
    gc.collect()
    gc.freeze()
    multiprocessing.set_start_method("fork", force=True)
    os.register_at_fork(
        before=partial(signal.pthread_sigmask, signal.SIG_BLOCK, WORKER_SIGNALS),
        after_in_parent=partial(signal.pthread_sigmask, signal.SIG_UNBLOCK, WORKER_SIGNALS),
    )
    drainable = Drainable(application)
    start_worker = partial(_start_worker, drainable, os.getpid(), prepare)
    crashed: deque[float] = deque(maxlen=CRASH_LOOPS)
    while True:
        server = _server(bind)
        server.on_startup(partial(_drain_before_stop, drainable))
        with suppress(SystemExit):  # it has given up
            server.serve(target_loader=start_worker, wrap_loader=False)
        if not server.interrupt_signal:
            time.sleep(1)
        if server.interrupt_signal:  # it was told to stop
            break
        crashed.append(time.monotonic())
        if len(crashed) == CRASH_LOOPS and crashed[-1] - crashed[0] < CRASH_LOOPS_SECONDS:
            break
    if connection.vendor == "sqlite":
        # Moves what is in the -wal file to the database: the workers close no connection.
        with suppress(DatabaseError):
            connection.ensure_connection()
        connection.close()
    if not server.interrupt_signal:
        sys.exit("The workers die again and again: the lines above say why.")


def _server(bind: str) -> MPServer:
    return MPServer(
        settings.WSGI_APPLICATION,
        **address_of(bind),
        interface=Interfaces.WSGI,
        http=HTTPModes.http1,
        websockets=False,
        workers=settings.WEB_CONCURRENCY,
        blocking_threads=settings.THREADS,
        blocking_threads_idle_timeout=THREAD_IDLE_TIMEOUT_SECONDS,
        http1_settings=HTTP1Settings(
            header_read_timeout=HEAD_TIMEOUT_SECONDS * 1000, max_buffer_size=MAX_BUFFER_BYTES
        ),
        respawn_failed_workers=True,
        respawn_interval=1,
        workers_kill_timeout=GRACEFUL_TIMEOUT_SECONDS,
        # Its log lines go where all others go: Django's logging stays as it is.
        log_dictconfig={"incremental": True, "handlers": {}, "loggers": {}},
    )


def address_of(bind: str) -> dict[str, Any]:
    """Return the arguments by which Granian listens at HOST:PORT or unix:PATH.

    Raises ValueError or OSError if it is neither, or no such host is known.
    """
    if bind.startswith("unix:"):
        return {"uds": Path(bind.removeprefix("unix:"))}
    host, _, port = bind.rpartition(":")
    if not host:
        raise ValueError("it names no host")
    address = host.strip("[]") if host.startswith("[") else socket.gethostbyname(host)
    return {"address": address, "port": int(port)}


def _drain_before_stop(drainable: Drainable) -> None:
    """Let the first SIGTERM begin the drain. When that ends, a second one stops the server."""
    stop = signal.getsignal(signal.SIGTERM)

    def drain_or_stop(number: int, frame: FrameType | None) -> None:
        if settings.DRAIN_SECONDS and not drainable.drains:
            drainable.begin()
            end = Timer(settings.DRAIN_SECONDS, os.kill, [os.getpid(), signal.SIGTERM])
            end.daemon = True
            end.start()
        elif callable(stop):
            stop(number, frame)

    signal.signal(signal.SIGTERM, drain_or_stop)


def _start_worker(drainable: Drainable, parent: int, prepare: Callable[[], None]) -> Drainable:
    """Return the application, in a worker that has only just been forked."""
    # The handler that it was born with is the parent's. Granian sets the worker's own later.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    Thread(target=_stop_at_sigterm, name="stop", daemon=True).start()
    Thread(target=_stop_without_parent, args=[parent], name="parent", daemon=True).start()
    sys.setswitchinterval(SWITCH_INTERVAL_SECONDS)
    if settings.METRICS_BIND:
        from cartsvc.serving import metrics  # noqa: PLC0415 (counts from here on)

        metrics.serve(**address_of(settings.METRICS_BIND))
    prepare()
    return drainable


def _stop_at_sigterm() -> None:
    """Run Granian's handler of SIGTERM.

    Python would run it in the main thread. A signal that arrives just as that thread begins to wait
    would be missed, and the worker killed after GRACEFUL_TIMEOUT_SECONDS.
    """
    number = signal.sigwait({signal.SIGTERM})
    stop = signal.getsignal(number)
    if not callable(stop):  # it does not serve yet
        os._exit(0)
    stop(number, None)


def _stop_without_parent(parent: int) -> None:
    """Stop when the parent is gone: a worker alone would serve on, and keep the port."""
    while os.getppid() == parent:
        time.sleep(1)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(GRACEFUL_TIMEOUT_SECONDS)
    os._exit(1)


@contextmanager
def shared_counts() -> Iterator[None]:
    """Create the folder in which the workers count, before prometheus_client is imported.

    It is in memory where there is such a place: on a full disk, counting would kill a worker.
    """
    if not settings.METRICS_BIND:
        yield
        return
    memory = "/dev/shm"  # noqa: S108 (the folder gets a name of its own)
    where = memory if os.access(memory, os.W_OK) else None
    with TemporaryDirectory("", "cartsvc-metrics-", where, ignore_cleanup_errors=True) as folder:
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = folder
        yield
