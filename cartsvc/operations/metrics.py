"""What Prometheus may scrape, at METRICS_BIND.

Each worker counts in files of its own, where PROMETHEUS_MULTIPROC_DIR says when this module
is imported, and any worker answers a scrape with the sum of all.
"""

from threading import Thread
from wsgiref.simple_server import WSGIRequestHandler, make_server

from django.http import HttpResponse
from prometheus_client import CollectorRegistry, Counter, Histogram, make_wsgi_app, multiprocess
from prometheus_client.exposition import ThreadingWSGIServer

REQUESTS = Counter("cartsvc_requests", "Requests answered.", ["operation", "status"])
SECONDS = Histogram(
    "cartsvc_request_seconds",
    "Seconds to answer a request.",
    ["operation"],
    buckets=(0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5),
)
REPLAYS = Counter("cartsvc_replays", "Requests answered from their Idempotency-Key's record.")
CONFLICTS = Counter("cartsvc_conflicts", "Requests refused with 409, 412 or 422.", ["operation"])
DATABASE_ERRORS = Counter("cartsvc_database_errors", "Requests that the database did not serve.")


def count(
    operation: str, response: HttpResponse, seconds: float, successes: Counter | None = None
) -> None:
    """Count a request for an operation that was answered after so many seconds.

    `successes` is the operation's own counter of what it did, replays apart.
    """
    status = response.status_code
    REQUESTS.labels(operation, status).inc()
    SECONDS.labels(operation).observe(seconds)
    if "Idempotent-Replayed" in response:
        REPLAYS.inc()
    elif successes and status == 200:
        successes.inc()
    elif status in (409, 412, 422):
        CONFLICTS.labels(operation).inc()


class SharedServer(ThreadingWSGIServer):
    """Every worker listens on the same port, so a worker's end does not end the metrics."""

    allow_reuse_port = True


class QuietHandler(WSGIRequestHandler):
    def log_message(self, *args: object) -> None:
        """A scrape every few seconds is no news."""


def serve(host: str, port: int) -> None:
    """Answer scrapes in a thread of their own, away from the public port."""
    registry = CollectorRegistry()
    multiprocess.MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    server = make_server(host, port, make_wsgi_app(registry), SharedServer, QuietHandler)
    Thread(target=server.serve_forever, name="metrics", daemon=True).start()
