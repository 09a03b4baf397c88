"""Log lines: one a request, with nothing in it that must not be known."""

import hashlib
import logging
from contextvars import ContextVar
from functools import cache
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from pythonjsonlogger.core import RESERVED_ATTRS
from pythonjsonlogger.json import JsonFormatter

access = logging.getLogger("cartsvc.access")

# The API request that this thread works for, so that each line it logs names it.
request_id: ContextVar[str | None] = ContextVar("request_id", default=None)


class RequestId(logging.Filter):
    """Name the request in every line that is logged on its way."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.request_id = request_id.get()
        return True


class Pages(logging.Filter):
    """Drop what Django logs of an answer of the API: its access line says it."""

    def filter(self, record: logging.LogRecord) -> bool:
        return request_id.get() is None


class LineFormatter(JsonFormatter):
    """One JSON object a line; what a line does not have is left out."""

    def __init__(self) -> None:
        super().__init__(
            ["levelname", "name", "message"],
            rename_fields={"levelname": "level", "name": "logger"},
            timestamp="time",
            # What Django adds to its own lines; a request shows its path with the keys.
            reserved_attrs=[*RESERVED_ATTRS, "request", "server_time", "status_code"],
        )

    def process_log_record(self, log_data: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in log_data.items() if value is not None}


def log_access(
    operation: str, request: HttpRequest, response: HttpResponse, seconds: float
) -> None:
    """Log an answer: never a body, a token, a path with its keys or a query string."""
    if not access.isEnabledFor(logging.INFO):
        return
    subject = getattr(getattr(request, "user", None), "subject", None)
    access.info(
        "%s %s",
        operation,
        response.status_code,
        extra={
            "operation": operation,
            "status": response.status_code,
            "duration_ms": round(seconds * 1000, 2),
            "bearer": None if subject is None else pseudonym(subject),
        },
    )


def pseudonym(subject: str) -> str:
    """Return what stands for a bearer in the logs: the same each time, and not reversible."""
    return hashlib.blake2b(
        subject.encode(errors="surrogatepass"), key=_pseudonym_key(), digest_size=8
    ).hexdigest()


@cache
def _pseudonym_key() -> bytes:
    return hashlib.sha256(f"cartsvc.logs {settings.SECRET_KEY}".encode()).digest()
