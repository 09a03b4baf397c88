"""Health checks for a load balancer: whether the process runs and whether it can serve."""

from functools import cache
from typing import Any

from django.db import Error as DatabaseError
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, JsonResponse

from cartsvc.serving.drain import DRAINING

PATHS = frozenset({"/healthz", "/readyz"})


class Pending(Exception):
    """The database lacks migrations that this code needs."""


def process(_request: HttpRequest) -> JsonResponse:
    """Answer 200 as long as the process runs. If this fails, restart it."""
    return _answer(200, "ok")


def ready(request: HttpRequest) -> JsonResponse:
    """Answer 200 if requests can be served, else 503. If this fails, send traffic elsewhere."""
    if DRAINING in request.META:
        return _answer(503, "draining")
    try:
        database: Any = connection  # a backend of cartsvc.db
        if database.only_reads():
            return _answer(503, "database read-only")
        check_migrations()
    except DatabaseError:
        return _answer(503, "database unavailable")
    except Pending:
        return _answer(503, "migrations pending")
    return _answer(200, "ok")


def pending_migrations() -> list[Any]:
    """Return the migrations that this code needs and the database lacks.

    Raises:
        DatabaseError: the database does not answer.
    """
    executor = MigrationExecutor(connection)
    return executor.migration_plan(executor.loader.graph.leaf_nodes())


@cache  # only success is cached: migrations are not unapplied under a running server
def check_migrations() -> None:
    if pending_migrations():
        raise Pending


def _answer(status: int, text: str) -> JsonResponse:
    return JsonResponse({"status": text}, status=status, headers={"Cache-Control": "no-store"})
