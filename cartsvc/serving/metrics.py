"""Metrics for Prometheus, served at METRICS_BIND by the parent, which keeps the counts.

A worker sends what it counts through a pipe, so that no disk can end it, and counts outlive it.
While the parent does not read, counts are lost, and no request waits.
"""

import fcntl
import json
import os
import select
from collections.abc import Sequence
from contextlib import suppress
from threading import Lock, Thread
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, make_server

import prometheus_client
from django.http import HttpResponse

from cartsvc import __version__
from cartsvc.serving.logs import instance_name

# A busy parent leaves some ten thousand requests' counts in it.
PIPE_BYTES = 1024 * 1024
# For a scrape to be asked for. They are answered one after the other.
SCRAPE_TIMEOUT_SECONDS = 2

REGISTRY = prometheus_client.CollectorRegistry()
prometheus_client.disable_created_metrics()  # type: ignore[no-untyped-call]

# What is counted, by its name.
_kept: dict[str, prometheus_client.Counter | prometheus_client.Histogram] = {}
# Where a process sends what it counts, if METRICS_BIND is set.
_inbox: "Inbox | None" = None


class Counter:
    """A counter of the whole service: workers add to it in their parent."""

    def __init__(self, name: str, text: str, labels: Sequence[str] = ()) -> None:
        self.name = name
        _kept[name] = prometheus_client.Counter(name, text, labels, registry=REGISTRY)

    def inc(self, *labels: object) -> None:
        _add([self.name, labels, None])


REQUESTS = Counter("cartsvc_requests", "Requests answered.", ["operation", "status"])
REPLAYS = Counter("cartsvc_replays", "Requests answered from their Idempotency-Key's record.")
ERRORS = Counter(
    "cartsvc_errors",
    "Requests refused, by the first error's code and the exception behind it.",
    ["code", "exception"],
)
DATABASE_ERRORS = Counter("cartsvc_database_errors", "Requests that the database did not serve.")
UNREACHABLE = Counter("cartsvc_unreachable", "Failed attempts to ask another server.", ["server"])
SECONDS = "cartsvc_request_seconds"
_kept[SECONDS] = prometheus_client.Histogram(
    SECONDS,
    "Seconds to answer a request.",
    ["operation"],
    registry=REGISTRY,
    buckets=(0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5),
)


def count(operation: str, response: HttpResponse, seconds: float) -> None:
    """Count an answered request."""
    REQUESTS.inc(operation, response.status_code)
    _add([SECONDS, [operation], seconds])
    if "Idempotent-Replayed" in response:
        REPLAYS.inc()


def _add(counted: list[Any]) -> None:
    if _inbox:
        _inbox.send(counted)
    else:
        _keep(*counted)


def _keep(name: str, labels: Sequence[object], seconds: float | None) -> None:
    metric: Any = _kept[name].labels(*labels) if labels else _kept[name]
    if seconds is None:
        metric.inc()
    else:
        metric.observe(seconds)


class Inbox:
    """The pipe from the workers to their parent."""

    def __init__(self) -> None:
        self.reader, self.writer = os.pipe()
        for end in (self.reader, self.writer):
            os.set_blocking(end, False)
        with suppress(OSError):  # the user may have too many large ones
            fcntl.fcntl(self.writer, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
        self.rest = b""
        self.reading = Lock()

    def send(self, counted: list[Any]) -> None:
        with suppress(OSError):
            os.write(self.writer, json.dumps(counted).encode() + b"\n")

    def empty(self) -> None:
        """Add up all that has been sent until now."""
        with self.reading, suppress(BlockingIOError):
            while True:
                *lines, self.rest = (self.rest + os.read(self.reader, PIPE_BYTES)).split(b"\n")
                for line in lines:
                    _keep(*json.loads(line))

    def keep_empty(self) -> None:
        while True:
            select.select([self.reader], [], [])
            self.empty()


def listen(address: str, port: int) -> None:
    """Answer scrapes at this address, in the background. The workers are forked after this."""
    global _inbox  # noqa: PLW0603 (a process has one)
    answer = prometheus_client.make_wsgi_app(REGISTRY)

    def application(environ: dict[str, Any], start_response: Any) -> Any:
        inbox.empty()
        return answer(environ, start_response)

    server = make_server(address, port, application, handler_class=_Handler)
    inbox = Inbox()
    os.register_at_fork(after_in_child=server.socket.close)
    # A metric of its own, to join with the others. As a label of each, a new name would make new
    # series of all of them.
    instance = prometheus_client.Info("cartsvc", "The instance that answers.", registry=REGISTRY)
    instance.info({"instance_name": instance_name(), "version": __version__})
    for run in (inbox.keep_empty, server.serve_forever):
        Thread(target=run, name="metrics", daemon=True).start()
    _inbox = inbox


class _Handler(WSGIRequestHandler):
    timeout = SCRAPE_TIMEOUT_SECONDS

    def handle(self) -> None:
        with suppress(OSError):  # of who asks too slowly, or has gone
            super().handle()

    def log_message(self, *args: Any) -> None:
        """Say nothing of a scrape."""
