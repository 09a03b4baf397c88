"""The server, Granian, run in the process that calls `run`: `manage.py serve`."""

import gc
import multiprocessing
import os
import shutil
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from threading import Thread
from types import FrameType
from typing import Any

from django.conf import settings
from django.db import connections
from django.utils.module_loading import import_string
from granian.constants import HTTPModes, Interfaces
from granian.http import HTTP1Settings
from granian.server import MPServer

from cartsvc.operations import drain

# Seconds: to send the head of a request, or the next one; to finish what runs at a stop.
HEAD_TIMEOUT = 10
GRACEFUL_TIMEOUT = 30
# Bytes that a connection may buffer. A head of more than twice as many is refused.
MAX_BUFFER = 64 * 1024
# Seconds for which a thread may keep the interpreter's lock from another one that wants it, in
# place of 0.005. A small request wants it again after each answer of the database, so this is
# what it waits for, some ten times, beside a thread that works on something large.
SWITCH_INTERVAL = 0.001
# Blocked in a worker from its birth on, so that none is missed. `_heed` waits for SIGTERM. The
# others, which a terminal sends to the workers as well, are for their parent.
SIGNALS = {signal.SIGTERM, signal.SIGINT, signal.SIGHUP}
# A thread that ends takes its database connection with it; the longest that may be asked for.
THREAD_IDLE_TIMEOUT = 600

# Its lines go where all others go, as JSON or as text: Django's logging stays as it is.
LOGGING = {"incremental": True, "handlers": {}, "loggers": {}}

Application = Callable[..., Any]


def run(bind: str, workers: int) -> None:
    """Serve at HOST:PORT or unix:PATH until SIGTERM or SIGINT; SIGHUP replaces the workers.

    SIGTERM drains first, for DRAIN_SECONDS. A second one stops at once, as SIGINT does.
    The caller is within `shared_counts`.
    """
    # The application is loaded once, and shared by the workers' memory.
    application = import_string(settings.WSGI_APPLICATION)
    connections.close_all()
    gc.collect()
    gc.freeze()
    multiprocessing.set_start_method("fork", force=True)
    start_worker = partial(_start_worker, drain.saying_goodbye(application), os.getpid())
    os.register_at_fork(
        before=partial(signal.pthread_sigmask, signal.SIG_BLOCK, SIGNALS),
        after_in_parent=partial(signal.pthread_sigmask, signal.SIG_UNBLOCK, SIGNALS),
    )
    while True:
        server = _server(bind, workers)
        server.on_startup(partial(_drain_first, bind))
        # Granian gives up when a worker dies twice within seconds: it is started again.
        with suppress(SystemExit):
            server.serve(target_loader=start_worker, wrap_loader=False)
        if not server.interrupt_signal:
            time.sleep(1)
        if server.interrupt_signal:
            return


def _server(bind: str, workers: int) -> MPServer:
    return MPServer(
        settings.WSGI_APPLICATION,
        **_address(bind),
        interface=Interfaces.WSGI,
        http=HTTPModes.http1,
        websockets=False,
        workers=workers,
        blocking_threads=settings.THREADS,
        blocking_threads_idle_timeout=THREAD_IDLE_TIMEOUT,
        http1_settings=HTTP1Settings(
            header_read_timeout=HEAD_TIMEOUT * 1000, max_buffer_size=MAX_BUFFER
        ),
        respawn_failed_workers=True,
        respawn_interval=1,
        workers_kill_timeout=GRACEFUL_TIMEOUT,
        log_dictconfig=LOGGING,
    )


def _address(bind: str) -> dict[str, Any]:
    if bind.startswith("unix:"):
        return {"uds": Path(bind.removeprefix("unix:"))}
    host, _, port = bind.rpartition(":")
    address = host.strip("[]") if host.startswith("[") else socket.gethostbyname(host)
    return {"address": address, "port": int(port)}


def _drain_first(bind: str) -> None:
    """Let SIGTERM drain before it does what it does now."""
    stop = signal.getsignal(signal.SIGTERM)

    def drain_or_stop(number: int, frame: FrameType | None) -> None:
        if settings.DRAIN_SECONDS and not drain.begun():
            drain.begin()
            Thread(target=_leave, args=[bind], name="drain", daemon=True).start()
        elif callable(stop):
            stop(number, frame)

    signal.signal(signal.SIGTERM, drain_or_stop)


def _leave(bind: str) -> None:
    """Wait until nobody sends requests any more, refuse those who still connect, and stop."""
    time.sleep(settings.DRAIN_SECONDS)
    if bind.startswith("unix:"):
        Path(bind.removeprefix("unix:")).unlink(missing_ok=True)
    drain.end(len(multiprocessing.active_children()))
    os.kill(os.getpid(), signal.SIGTERM)


def _start_worker(application: Application, parent: int) -> Application:
    """Return the application, in a worker that has only just been forked."""
    # Until Granian handles it: the parent's handler would drain.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    Thread(target=_heed, name="stop", daemon=True).start()
    Thread(target=_follow, args=[parent], name="parent", daemon=True).start()
    sys.setswitchinterval(SWITCH_INTERVAL)
    if settings.METRICS_BIND:
        from cartsvc.operations import metrics  # noqa: PLC0415 (counts from here on)

        host, _, port = settings.METRICS_BIND.rpartition(":")
        metrics.serve(host, int(port))
    return application


def _heed() -> None:
    """Wait for SIGTERM, and do what Granian does then.

    Python's own way is the main thread, and that one does not notice a signal that arrives just as
    it begins to wait for a lock: such a worker was killed after GRACEFUL_TIMEOUT.
    """
    number = signal.sigwait({signal.SIGTERM})
    stop = signal.getsignal(number)
    if not callable(stop):  # it does not serve yet
        os._exit(0)
    stop(number, None)


def _follow(parent: int) -> None:
    """Leave when the drain ends, and stop when the parent is gone.

    A worker alone would serve on, and keep the port.
    """
    left = False
    while os.getppid() == parent:
        if drain.leaving() and not left:
            drain.leave()
            left = True
        time.sleep(0.05 if drain.begun() else 1)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(GRACEFUL_TIMEOUT)
    os._exit(1)


@contextmanager
def shared_counts() -> Iterator[None]:
    """Create the folder in which the workers count, before prometheus_client is imported."""
    if not settings.METRICS_BIND:
        yield
        return
    folder = tempfile.mkdtemp(prefix="cartsvc-metrics-")
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = folder
    try:
        yield
    finally:
        shutil.rmtree(folder, ignore_errors=True)
