"""The production server's configuration: gunicorn -c cartsvc/gunicorn.py cartsvc.wsgi"""

import gc
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from environs import Env
from gunicorn import util

from cartsvc import settings
from cartsvc.api.malformed_http import write_envelope

env = Env()

wsgi_app = "cartsvc.wsgi"
bind = env.list("BIND", ["127.0.0.1:8000"])
workers = settings.WEB_CONCURRENCY
# A few threads a worker, so that one slow caller does not hold up the others.
worker_class = "cartsvc.operations.worker.Worker"
threads = settings.THREADS
keepalive = 5
# How long a worker may be silent, and how long a stop waits for what runs; seconds.
timeout = 30
graceful_timeout = 30
# The application is loaded once and shared by the workers' memory.
preload_app = True
control_socket_disable = True
accesslog = None
errorlog = "-"

# What is no HTTP at all is refused before Django sees it, and in JSON, too.
util.write_error = write_envelope

METRICS_BIND = settings.METRICS_BIND
if METRICS_BIND and "PROMETHEUS_MULTIPROC_DIR" not in os.environ:
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = tempfile.mkdtemp(prefix="cartsvc-metrics-")


def on_starting(_server: Any) -> None:
    if METRICS_BIND:
        # The counts of an earlier run are not this one's.
        folder = Path(os.environ["PROMETHEUS_MULTIPROC_DIR"])
        folder.mkdir(exist_ok=True)
        for file in folder.glob("*.db"):
            file.unlink()


def when_ready(_server: Any) -> None:
    # What is loaded by now stays for good: collections skip it, pages stay shared.
    gc.collect()
    gc.freeze()


def post_worker_init(_worker: Any) -> None:
    if METRICS_BIND:
        from cartsvc.operations import metrics  # noqa: PLC0415 (counts from here on)

        host, _, port = METRICS_BIND.rpartition(":")
        metrics.serve(host, int(port))


def child_exit(_server: Any, worker: Any) -> None:
    if METRICS_BIND:
        from prometheus_client import multiprocess  # noqa: PLC0415

        multiprocess.mark_process_dead(worker.pid)  # type: ignore[no-untyped-call]


def on_exit(_server: Any) -> None:
    if METRICS_BIND:
        shutil.rmtree(os.environ["PROMETHEUS_MULTIPROC_DIR"], ignore_errors=True)
