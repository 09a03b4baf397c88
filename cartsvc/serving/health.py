"""Health checks for a load balancer: whether the process runs and whether it can serve."""

from typing import Any

from django.db import Error as DatabaseError
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, JsonResponse

from cartsvc import __version__
from cartsvc.serving.drain import DRAINING

READ_ONLY = {"postgresql": "SHOW transaction_read_only", "sqlite": "PRAGMA query_only"}

# Whether this process has seen the database with all migrations: empty until then.
MIGRATED: set[bool] = set()


def process(_request: HttpRequest) -> JsonResponse:
    """Answer 200 as long as the process runs, with its release. If this fails, restart it."""
    return _answer(200, "ok", version=__version__)


def ready(request: HttpRequest) -> JsonResponse:
    """Answer 200 if requests can be served, else 503. If this fails, send traffic elsewhere."""
    if DRAINING in request.META:
        return _answer(503, "draining")
    try:
        with connection.cursor() as cursor:
            cursor.execute(READ_ONLY[connection.vendor])
            if cursor.fetchone()[0] in {"on", 1}:
                return _answer(503, "database read-only")
        if not MIGRATED and pending_migrations():
            return _answer(503, "migrations pending")
        MIGRATED.add(True)  # migrations are not unapplied under a running server
    except DatabaseError:
        return _answer(503, "database unavailable")
    return _answer(200, "ok")


def pending_migrations() -> list[Any]:
    """Return the migrations that this code needs and the database lacks."""
    executor = MigrationExecutor(connection)
    return executor.migration_plan(executor.loader.graph.leaf_nodes())


def is_migrated() -> bool:
    try:
        return not pending_migrations()
    except DatabaseError:
        return False


def _answer(status: int, text: str, **more: str) -> JsonResponse:
    headers = {"Cache-Control": "no-store"}
    return JsonResponse({"status": text, **more}, status=status, headers=headers)


CHECKS = {"/healthz": process, "/readyz": ready}
