"""Log lines: one for each request, without anything confidential."""

import json
import logging
import os
import sys
import time
from collections.abc import Mapping
from contextvars import ContextVar
from datetime import UTC, datetime
from functools import cache, lru_cache
from io import FileIO, TextIOWrapper
from socket import gethostname

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils.crypto import salted_hmac
from django.utils.log import configure_logging

access = logging.getLogger("cartsvc.access")

# What no line shows need not be found for each: logging's documented switches.
logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
logging._srcfile = None  # noqa: SLF001 (so says its documentation)

LOG_SECONDS = 60  # between two warnings of the same text, whatever its values
_warned_at: dict[str, float] = {}

# What each log line says of the API request that this thread is serving.
request_ids: ContextVar[Mapping[str, str]] = ContextVar("request_ids")


@cache  # it is in every line
def instance_name() -> str:
    return f"{gethostname()}:{settings.BIND.rpartition(':')[2]}"


def use_lossy_output() -> None:
    """Let this process lose lines of its log, rather than wait for a reader or keep them.

    A reader may stand still, such as journald on a full disk. A line that a full disk has left in a
    buffer would fail the next fork.
    """
    for name in ("stdout", "stderr"):
        number = getattr(sys, name).fileno()
        if not os.isatty(number):  # which the shell would share
            os.set_blocking(number, False)
        unbuffered = FileIO(number, "w", closefd=False)
        text = TextIOWrapper(unbuffered, "utf-8", "backslashreplace", write_through=True)
        setattr(sys, name, text)
    configure_logging(settings.LOGGING_CONFIG, settings.LOGGING)


class PageLines(logging.Filter):
    """Keeps Django's lines about pages, without the path or Host of one that was refused."""

    def filter(self, record: logging.LogRecord) -> bool:
        if 400 <= (status := getattr(record, "status_code", 0)) < 500:
            record.msg, record.args, record.exc_info = "Page refused: %s", (status,), None
            record.levelno, record.levelname = logging.WARNING, "WARNING"
        request = getattr(record, "request", None)
        return not request_ids.get({}) and getattr(request, "path", None) != "/readyz"


class LineFormatter(logging.Formatter):
    """Formats a line as one JSON object. A package for this would take longer.

    Of what `extra` gives, only `members` are shown: Django's own would show a path with its keys.
    """

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "members", {}),
            **request_ids.get({}),
            "instance": instance_name(),
        }
        if record.exc_info:
            line["exc_info"] = self.formatException(record.exc_info)
        return json.dumps(line)


# What Django raises of a forged request, and logs as an error, each kind by a logger of its own.
FORGED = (
    *("DisallowedHost", "DisallowedModelAdminLookup", "DisallowedModelAdminToField"),
    *("RequestDataTooBig", "SuspiciousMultipartForm", "TooManyFieldsSent", "TooManyFilesSent"),
)

# The setting of Django.
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "json": {"()": LineFormatter},
        "text": {"format": "%(asctime)s %(levelname)s %(name)s %(message)s"},
    },
    "filters": {"pages": {"()": PageLines}},
    "handlers": {
        "console": {
            "class": "logging.StreamHandler",
            "stream": "ext://sys.stdout",
            "formatter": "text" if sys.stdout.isatty() else "json",
        }
    },
    "root": {"handlers": ["console"], "level": "INFO"},
    "loggers": {
        "django.server": {"propagate": True},
        "django.request": {"filters": ["pages"]},
        **{f"django.security.{name}": {"filters": ["pages"]} for name in FORGED},
    },
}


def log_access(
    operation: str, request: HttpRequest, response: HttpResponse, seconds: float
) -> None:
    members = {
        "operation": operation,
        "status": response.status_code,
        "duration_ms": round(seconds * 1000, 2),
    }
    if code := getattr(response, "code", None):
        members["code"] = code
    if subject := getattr(getattr(request, "user", None), "sub", None):
        members["bearer"] = pseudonym(subject)
    access.info("%s %s", operation, response.status_code, extra={"members": members})


def warn_once_a_minute(text: str, *values: object) -> None:
    moment = time.monotonic()
    if moment >= _warned_at.get(text, -LOG_SECONDS) + LOG_SECONDS:
        _warned_at[text] = moment
        logging.getLogger("cartsvc").warning(text, *values)


@lru_cache(1000)
def pseudonym(subject: str) -> str:
    """Return the name of a bearer in the logs, which cannot be reversed."""
    return salted_hmac("cartsvc.logs", subject, algorithm="sha256").hexdigest()[:16]
