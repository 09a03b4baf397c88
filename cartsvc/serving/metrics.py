"""Metrics for Prometheus, served at METRICS_BIND by the parent.

A worker counts in memory. Each second, and as it ends, it sends what is new to the parent through a
pipe, so that no disk can end it, and counts outlive it. One that is killed loses a second's.
"""

import json
import os
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from itertools import accumulate
from math import inf
from threading import Lock, Thread
from typing import Any

import prometheus_client
from django.http import HttpResponse
from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString

from cartsvc import __version__
from cartsvc.serving.logs import instance_name

# The upper bounds of a histogram's buckets, in seconds.
BOUNDS = (0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, inf)

REGISTRY = prometheus_client.CollectorRegistry()

# By metric and labels: what a worker has yet to send, and in the parent the sums of all.
_counts: defaultdict[tuple[object, ...], float] = defaultdict(float)
_lock = Lock()
_writer = -1  # the pipe to the parent, if METRICS_BIND is set


class Counter(Collector):
    def __init__(self, name: str, text: str, *labels: str) -> None:
        self.name, self.text, self.labels = f"cartsvc_{name}", text, labels
        REGISTRY.register(self)
        if not labels:
            self.add(amount=0)

    def add(self, *labels: object, amount: float = 1) -> None:
        with _lock:
            _counts[self.name, *labels] += amount

    def collect(self) -> Iterator[prometheus_client.Metric]:
        family = CounterMetricFamily(self.name, self.text, labels=self.labels)
        for labels, count in self._counted().items():
            family.add_metric([*map(str, labels)], count)
        yield family

    def _counted(self) -> dict[Any, float]:
        with _lock:
            return {key[1:]: n for key, n in _counts.items() if key[0] == self.name}


class Histogram(Counter):
    """Of seconds: the count of each bucket, and the "sum" of all."""

    def collect(self) -> Iterator[prometheus_client.Metric]:
        family = HistogramMetricFamily(self.name, self.text, labels=self.labels)
        counts = self._counted()
        for label in dict.fromkeys(label for label, _ in counts):
            sums = accumulate(counts.get((label, bound), 0) for bound in BOUNDS)
            buckets = [*zip(map(floatToGoString, BOUNDS), sums, strict=True)]
            family.add_metric([label], buckets, counts.get((label, "sum"), 0))
        yield family


REQUESTS = Counter("requests", "Requests answered.", "operation", "status")
SECONDS = Histogram("request_seconds", "Seconds to answer a request.", "operation")
REPLAYS = Counter("replays", "Requests answered from their Idempotency-Key's record.")
REFUSALS = Counter(
    "errors", "Requests refused, by the first error's code and exception.", "code", "exception"
)
DATABASE_ERRORS = Counter("database_errors", "Requests that the database did not serve.")
UNREACHABLE = Counter("unreachable", "Failed attempts to ask another server.", "server")
WORKERS_REPLACED = Counter("workers_replaced", "Workers started in place of one that had died.")
KEYS_AGE = prometheus_client.Gauge(
    "cartsvc_keys_age_seconds",
    "Seconds since a server's newest keys were fetched; +Inf: never.",
    ["server"],
    registry=REGISTRY,
)


def count_request(operation: str, response: HttpResponse, seconds: float) -> None:
    REQUESTS.add(operation, response.status_code)
    SECONDS.add(operation, BOUNDS[bisect_left(BOUNDS, seconds)])
    SECONDS.add(operation, "sum", amount=seconds)
    if "Idempotent-Replayed" in response:
        REPLAYS.add()


def send() -> None:
    """Send the parent what is new, or keep it while the pipe is full."""
    with _lock, suppress(OSError):
        for key, count in list(_counts.items()):
            os.write(_writer, json.dumps([*key, count]).encode() + b"\n")
            del _counts[key]


def _receive(reader: int) -> None:
    with open(reader, "rb") as lines:
        for line in lines:
            *key, count = json.loads(line)
            with _lock:
                _counts[tuple(key)] += count


def listen(bind: str) -> None:
    """Answer scrapes at HOST:PORT, in the background. The workers are forked after this."""
    global _writer
    host, _, port = bind.partition(":")
    server, _ = prometheus_client.start_http_server(int(port), host, REGISTRY)
    server.RequestHandlerClass.timeout = 2  # type: ignore[attr-defined] # seconds to ask
    os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release)
    for begin in (_counts.clear, _lock.release, server.socket.close):
        os.register_at_fork(after_in_child=begin)
    # To join with the others: as a label of each, a new name would make new series of all.
    instance = prometheus_client.Info("cartsvc", "The instance that answers.", registry=REGISTRY)
    instance.info({"instance_name": instance_name(), "version": __version__})
    reader, _writer = os.pipe()
    os.set_blocking(_writer, False)
    Thread(target=_receive, args=[reader], name="metrics", daemon=True).start()
