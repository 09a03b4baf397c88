"""What Prometheus may scrape, at METRICS_BIND.

Under gunicorn each worker counts in files of its own (PROMETHEUS_MULTIPROC_DIR), and
any worker answers a scrape with the sum of all.
"""

from threading import Thread
from wsgiref.simple_server import WSGIRequestHandler, make_server

from django.http import HttpRequest, HttpResponse
from prometheus_client import CollectorRegistry, Counter, Histogram, make_wsgi_app, multiprocess
from prometheus_client.exposition import ThreadingWSGIServer

from cartsvc.api.operation import requested

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


def count(request: HttpRequest, response: HttpResponse, seconds: float) -> None:
    """Count an answered request."""
    operation, status = requested(request), response.status_code
    name = operation.name if operation else "-"
    REQUESTS.labels(name, status).inc()
    SECONDS.labels(name).observe(seconds)
    if "Idempotent-Replayed" in response:
        REPLAYS.inc()
    elif operation and operation.counter and status == 200:
        operation.counter.inc()
    elif status in (409, 412, 422):
        CONFLICTS.labels(name).inc()


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
