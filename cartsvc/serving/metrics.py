"""Metrics for Prometheus, served at METRICS_BIND.

Each worker counts in files of its own, in the folder that PROMETHEUS_MULTIPROC_DIR names when this
module is imported. Any worker answers a scrape with the sum of all workers.
"""

import os
from pathlib import Path

from django.conf import settings
from django.http import HttpResponse
from prometheus_client import Counter, Histogram, Info, multiprocess, start_http_server
from prometheus_client.exposition import ThreadingWSGIServer
from prometheus_client.registry import CollectorRegistry

from cartsvc import __version__

REQUESTS = Counter("cartsvc_requests", "Requests answered.", ["operation", "status"])
SECONDS = Histogram(
    "cartsvc_request_seconds",
    "Seconds to answer a request.",
    ["operation"],
    buckets=(0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5),
)
REPLAYS = Counter("cartsvc_replays", "Requests answered from their Idempotency-Key's record.")
CONFLICTS = Counter("cartsvc_conflicts", "Requests refused with 409, 412 or 422.", ["operation"])
ERRORS = Counter(
    "cartsvc_errors",
    "Requests refused, by the first error's code and the exception behind it.",
    ["code", "exception"],
)
DATABASE_ERRORS = Counter("cartsvc_database_errors", "Requests that the database did not serve.")
UNREACHABLE = Counter("cartsvc_unreachable", "Failed attempts to ask another server.", ["server"])


def count(
    operation: str, response: HttpResponse, seconds: float, successes: Counter | None = None
) -> None:
    """Count an answered request. `successes` is the operation's own counter, save of replays."""
    status = response.status_code
    REQUESTS.labels(operation, status).inc()
    SECONDS.labels(operation).observe(seconds)
    if "Idempotent-Replayed" in response:
        REPLAYS.inc()
    elif successes and status == 200:
        successes.inc()
    elif status in (409, 412, 422):
        CONFLICTS.labels(operation).inc()


def serve(address: str, port: int) -> None:
    """Answer scrapes at this address, in a background thread, apart from the public port."""
    registry = CollectorRegistry()
    # Somebody may have removed it: logind does when a user who is no system user signs out.
    Path(os.environ["PROMETHEUS_MULTIPROC_DIR"]).mkdir(mode=0o700, exist_ok=True)
    multiprocess.MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    # A metric of its own, to join with the others. As a label of each, a new name would make new
    # series of all of them.
    instance = Info("cartsvc", "The instance that answers.", registry=registry)
    instance.info({"instance_name": settings.INSTANCE_NAME, "version": __version__})
    # All workers share the port, so that metrics outlive any one worker.
    ThreadingWSGIServer.allow_reuse_port = True
    start_http_server(port, address, registry)
