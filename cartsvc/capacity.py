"""System checks: what the service is told to take must be what it can take."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from django.conf import settings
from django.core import checks
from django.core.checks import CheckMessage, Error, Tags, register
from django.db import OperationalError, connections

RATE = re.compile(r"[1-9]\d*/\d*(s|m|h|d|sec|min|hour|day)")
ADDRESS = re.compile(r"[\w.-]+:\d{1,5}")

# Where adding one is a single step that every worker sees.
COUNTING_CACHES = (
    "django.core.cache.backends.redis.RedisCache",
    "django.core.cache.backends.memcached.PyMemcacheCache",
    "django.core.cache.backends.memcached.PyLibMCCache",
)


@register(Tags.security)
def check_rate_limit(**_kwargs: Any) -> list[CheckMessage]:
    return list(_rate_limit_problems())


@register(Tags.security)
def check_metrics(**_kwargs: Any) -> list[CheckMessage]:
    if not settings.METRICS_BIND or ADDRESS.fullmatch(settings.METRICS_BIND):
        return []
    return [
        Error(
            f"METRICS_BIND is {settings.METRICS_BIND!r}.",
            # A port alone would be open on every interface.
            hint="Set it to host and port, such as 127.0.0.1:9100, or leave it unset.",
            id="cartsvc.E032",
        )
    ]


def _rate_limit_problems() -> Iterator[CheckMessage]:
    if not settings.THROTTLE_RATE:
        return
    if not RATE.fullmatch(settings.THROTTLE_RATE):
        yield Error(
            f"THROTTLE_RATE is {settings.THROTTLE_RATE!r}.",
            hint="Set it to a number of requests a period, such as 100/min, or leave it unset.",
            id="cartsvc.E030",
        )
    if settings.CACHES["default"]["BACKEND"] not in COUNTING_CACHES:
        yield Error(
            "THROTTLE_RATE is set, but the cache cannot count for all workers.",
            hint="Set CACHE_URL to a Redis (redis://host:6379/0) or Memcached "
            "(pymemcache://host:11211) that all workers share.",
            id="cartsvc.E031",
        )


@register(Tags.database)
def check_connections(databases: Sequence[str] | None = None, **_kwargs: Any) -> list[CheckMessage]:
    """Every thread of every worker keeps a connection (manage.py check --database default)."""
    wanted = settings.WEB_CONCURRENCY * settings.THREADS
    return [
        checks.Warning(
            f"WEB_CONCURRENCY × THREADS is {wanted}, but {alias!r} takes {allowed} connections.",
            hint="Raise max_connections, or lower WEB_CONCURRENCY or THREADS.",
            id="cartsvc.W030",
        )
        for alias in databases or ()
        if connections[alias].vendor == "postgresql"
        and (allowed := _allowed_connections(alias)) is not None
        and allowed < wanted
    ]


def _allowed_connections(alias: str) -> int | None:
    try:
        with connections[alias].cursor() as cursor:
            cursor.execute(
                "SELECT current_setting('max_connections')::int"
                " - current_setting('superuser_reserved_connections')::int"
            )
            return int(cursor.fetchone()[0])
    except OperationalError:
        return None  # the other checks come first, and the command itself says so
