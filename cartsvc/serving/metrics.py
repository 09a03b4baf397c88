"""Metrics for Prometheus, served at METRICS_BIND by the parent, which keeps the counts.

A worker sends what it counts through a pipe, so that no disk can end it, and counts outlive it.
While the parent does not read, counts are lost, and no request waits.
"""

import fcntl
import json
import os
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from threading import Thread
from wsgiref.simple_server import WSGIRequestHandler, make_server

import prometheus_client
from django.http import HttpResponse
from prometheus_client import Counter, Gauge, Histogram

from cartsvc import __version__
from cartsvc.serving.logs import instance_name

# A busy parent leaves some ten thousand requests' counts in it.
PIPE_BYTES = 1024 * 1024

REGISTRY = prometheus_client.CollectorRegistry()
prometheus_client.disable_created_metrics()  # type: ignore[no-untyped-call]

# The package's metrics, in the order in which they are made.
_kept: list[Counter | Histogram] = []
# The pipe into which a process writes what it counts, if METRICS_BIND is set.
_writer: int | None = None


class Metric:
    def __init__(self, kept: Counter | Histogram) -> None:
        self.number = len(_kept)
        _kept.append(kept)

    def add(self, *labels: object, seconds: float | None = None) -> None:
        counted = self.number, labels, seconds
        if _writer is None:
            _keep(*counted)
        else:
            with suppress(OSError):  # it is full
                os.write(_writer, json.dumps(counted).encode() + b"\n")


def _counter(name: str, text: str, *labels: str) -> Metric:
    return Metric(Counter(f"cartsvc_{name}", text, labels, registry=REGISTRY))


SECONDS = Metric(
    Histogram(
        "cartsvc_request_seconds",
        "Seconds to answer a request.",
        ["operation"],
        buckets=(0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5),
        registry=REGISTRY,
    )
)
REQUESTS = _counter("requests", "Requests answered.", "operation", "status")
REPLAYS = _counter("replays", "Requests answered from their Idempotency-Key's record.")
REFUSALS = _counter(
    "errors",
    "Requests refused, by the first error's code and the exception behind it.",
    "code",
    "exception",
)
DATABASE_ERRORS = _counter("database_errors", "Requests that the database did not serve.")
UNREACHABLE = _counter("unreachable", "Failed attempts to ask another server.", "server")
WORKERS_REPLACED = _counter("workers_replaced", "Workers started in place of one that had died.")
KEYS_AGE = Gauge(
    "cartsvc_keys_age_seconds",
    "Seconds since a server's newest keys were fetched; +Inf: never.",
    ["server"],
    registry=REGISTRY,
)


def count_request(operation: str, response: HttpResponse, seconds: float) -> None:
    REQUESTS.add(operation, response.status_code)
    SECONDS.add(operation, seconds=seconds)
    if "Idempotent-Replayed" in response:
        REPLAYS.add()


def _keep(number: int, labels: Sequence[object], seconds: float | None) -> None:
    metric = _kept[number].labels(*labels) if labels else _kept[number]
    if isinstance(metric, Counter):
        metric.inc()
    elif seconds is not None:
        metric.observe(seconds)


def _receive(reader: int) -> None:
    with open(reader, "rb") as lines:
        for line in lines:
            _keep(*json.loads(line))


def listen(bind: str) -> None:
    """Answer scrapes at HOST:PORT, in the background. The workers are forked after this."""
    global _writer
    host, _, port = bind.partition(":")
    answer = prometheus_client.make_wsgi_app(REGISTRY)
    server = make_server(host, int(port), answer, handler_class=_Handler)
    os.register_at_fork(after_in_child=server.socket.close)
    # To join with the others: as a label of each, a new name would make new series of all.
    instance = prometheus_client.Info("cartsvc", "The instance that answers.", registry=REGISTRY)
    instance.info({"instance_name": instance_name(), "version": __version__})
    reader, _writer = os.pipe()
    os.set_blocking(_writer, False)
    # Only Linux can, and not for a user with many large ones.
    with suppress(AttributeError, OSError):
        fcntl.fcntl(_writer, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    for run in (partial(_receive, reader), server.serve_forever):
        Thread(target=run, name="metrics", daemon=True).start()


class _Handler(WSGIRequestHandler):
    timeout = 2  # seconds to ask: scrapes are answered one after the other

    def handle(self) -> None:
        with suppress(OSError):  # of who asks too slowly, or has gone
            super().handle()

    def log_message(self, *args: object) -> None:
        """Say nothing of a scrape."""
