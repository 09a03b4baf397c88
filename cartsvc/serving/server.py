"""The server, Granian: a parent loads the application, and forks the workers that serve it."""

import gc
import logging
import multiprocessing.util
import os
import signal
import sys
import time
from collections.abc import Callable
from functools import partial
from itertools import count
from threading import Thread, get_ident
from typing import Any

from django.conf import settings
from django.utils.module_loading import import_string
from granian import Granian
from granian.constants import HTTPModes, Interfaces
from granian.http import HTTP1Settings

from cartsvc.serving import metrics
from cartsvc.serving.drain import Drainable
from cartsvc.serving.logs import use_lossy_output

GRACEFUL_TIMEOUT_SECONDS = 30  # for running requests to finish when the server stops


def serve(address: dict[str, Any], prepare: Callable[[], object]) -> None:
    """Serve at this address until a signal. Each worker calls `prepare` first.

    This ends with an error if a worker that has died cannot be replaced, or the next dies at once.
    """
    use_lossy_output()
    # Granian would warn of threads that wait for the database, where there are few cores.
    logging.getLogger("_granian").addFilter(lambda line: "Python threads" not in line.getMessage())
    # The application is loaded once, before the workers are forked, so that they share its memory.
    # The garbage collector must leave that memory alone: it writes to whatever it looks at.
    drainable = Drainable(import_string(settings.WSGI_APPLICATION))
    gc.collect()
    gc.freeze()
    multiprocessing.set_start_method("fork", force=True)
    forks = count(1)
    os.register_at_fork(after_in_parent=lambda: _count_fork(next(forks)))
    server = Granian(
        settings.WSGI_APPLICATION,
        **address,
        interface=Interfaces.WSGI,
        http=HTTPModes.http1,
        websockets=False,
        workers=settings.WEB_CONCURRENCY,
        # One for `/readyz`, and one more than may wait for the database.
        blocking_threads=settings.THREADS + 2,
        blocking_threads_idle_timeout=600,  # one that ends closes its database connection
        # Milliseconds for a head to arrive, and between two of a connection; bytes of half a head.
        http1_settings=HTTP1Settings(header_read_timeout=10_000, max_buffer_size=64 * 1024),
        respawn_failed_workers=True,
        workers_kill_timeout=GRACEFUL_TIMEOUT_SECONDS,
        log_dictconfig={"incremental": True, "handlers": {}, "loggers": {}},
    )
    server.on_startup(drainable.begin_at_signals)
    try:
        server.serve(target_loader=partial(_start_worker, drainable, prepare), wrap_loader=False)
    finally:
        # None is left, unless a worker could not be replaced. This process would wait for them.
        for worker in multiprocessing.active_children():
            worker.terminate()
            worker.join(GRACEFUL_TIMEOUT_SECONDS)
            worker.kill()


def _count_fork(number: int) -> None:
    if number > settings.WEB_CONCURRENCY:
        metrics.WORKERS_REPLACED.add()


def _start_worker(drainable: Drainable, prepare: Callable[[], object]) -> Drainable:
    # A terminal sends these to all processes. Granian's handler would fail at the SIGTERM after it.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGHUP})
    signal.signal(signal.SIGURG, lambda *_: None)  # wakes the main thread
    Thread(target=_watch, args=[drainable.parent, get_ident()], daemon=True).start()
    sys.setswitchinterval(0.001)  # a request beside a large one would wait Python's 5 ms each time
    prepare()
    multiprocessing.util.Finalize(None, metrics.send, exitpriority=0)  # a fork has no `atexit`
    return drainable


def _watch(parent: int, main_thread: int) -> None:
    """Stop when the parent is gone: a worker alone would serve on, and keep the port.

    The main thread handles all signals, but sleeps through one that comes just as it falls asleep.
    Until then, it is woken each second.
    """
    while os.getppid() == parent:
        time.sleep(1)
        metrics.send()
        signal.pthread_kill(main_thread, signal.SIGURG)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(GRACEFUL_TIMEOUT_SECONDS)
    os._exit(1)
