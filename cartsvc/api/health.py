"""Health checks for a load balancer: whether the process runs and whether it can serve."""

import os
from threading import Event

from django.db import Error as DatabaseError
from django.db import connection
from django.http import HttpRequest, JsonResponse

from cartsvc import __version__
from cartsvc.concurrency_limit import CHECKING
from cartsvc.db.applied_migrations import is_migrated
from cartsvc.identity.bearer_tokens import fetch_issuer_keys
from cartsvc.request_errors import Unavailable
from cartsvc.serving.drain import DRAINING

READ_ONLY = {"postgresql": "SHOW transaction_read_only", "sqlite": "PRAGMA query_only"}

# Set once this process has seen the database with all migrations.
MIGRATED = Event()


def healthz(_request: HttpRequest) -> JsonResponse:
    """Answer 200 as long as the process runs, with its release. If this fails, restart it."""
    return _answer(200, "ok", version=__version__)


def readyz(request: HttpRequest) -> JsonResponse:
    """Answer 200 if requests can be served, else 503. If this fails, send traffic elsewhere."""
    if DRAINING in request.META:
        return _answer(503, "draining")
    try:
        # One at a time: each holds a thread while the database stands still.
        with CHECKING.seat_for(request.path_info):
            return _answer(*_readiness())
    except (DatabaseError, Unavailable):
        return _answer(503, "database unavailable")


def _readiness() -> tuple[int, str]:
    with connection.cursor() as cursor:
        cursor.execute(READ_ONLY[connection.vendor])
        reads_only = cursor.fetchone()[0] in {"on", 1}
    is_file, file = connection.vendor == "sqlite", connection.settings_dict["NAME"]
    if reads_only or (is_file and not os.access(file, os.W_OK)):
        return 503, "database read-only"
    if not MIGRATED.is_set() and not is_migrated():
        return 503, "migrations pending"
    MIGRATED.set()  # migrations are not unapplied under a running server
    if not fetch_issuer_keys():
        return 503, "issuer unreachable"
    return 200, "ok"


def _answer(status: int, text: str, **more: str) -> JsonResponse:
    headers = {"Cache-Control": "no-store"}
    return JsonResponse({"status": text, **more}, status=status, headers=headers)


PROBES = {"/healthz": healthz, "/readyz": readyz}
