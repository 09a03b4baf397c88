"""System checks: every half-made production configuration is refused with what to set."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import load_pem_public_key
from django.conf import settings
from django.core import checks
from django.core.checks import CheckMessage, Error, Tags, register
from django.db import OperationalError, connections

from cartsvc.api.throttling import parse_rate

# Each hint ends with the section to read.
CONFIGURATION = "(cartsvc/README.md, Configuration)"

ALGORITHMS = ("HS256", "RS256", "ES256")
MIN_SECRET_KEY = 32
# RFC 7518, section 3.2: a key of the size of the hash output or larger.
MIN_HS256_BYTES = 32

ADDRESS = re.compile(r"[\w.-]+:\d{1,5}")

# Where adding one is a single step that every worker sees.
COUNTING_CACHE = "django.core.cache.backends.redis.RedisCache"


@register(Tags.security)
def check_configuration(**_kwargs: Any) -> list[CheckMessage]:
    return [*_check_secret_key(), *_check_hosts(), *_check_jwt(), *_check_limits()]


def _check_secret_key() -> Iterator[CheckMessage]:
    if not settings.SECRET_KEY_IS_SET:
        yield Error(
            "SECRET_KEY is not set.",
            hint="A configured database has no generated secrets. Set SECRET_KEY to 50 or more "
            "random characters: python -c 'import secrets; print(secrets.token_urlsafe(50))' "
            f"{CONFIGURATION}",
            id="cartsvc.E001",
        )
    elif len(settings.SECRET_KEY) < MIN_SECRET_KEY:
        yield Error(
            f"SECRET_KEY is shorter than {MIN_SECRET_KEY} characters.",
            hint=f"Set SECRET_KEY to 50 or more random characters. {CONFIGURATION}",
            id="cartsvc.E002",
        )


def _check_hosts() -> Iterator[CheckMessage]:
    if "*" in settings.ALLOWED_HOSTS:
        yield Error(
            "ALLOWED_HOSTS allows every host.",
            hint="Set ALLOWED_HOSTS to the names under which the service is called, separated by "
            f"commas. {CONFIGURATION}",
            id="cartsvc.E003",
        )
    elif not settings.ALLOWED_HOSTS:
        yield Error(
            "ALLOWED_HOSTS is empty.",
            hint="Set ALLOWED_HOSTS to the names under which the service is called, separated by "
            f"commas. {CONFIGURATION}",
            id="cartsvc.E004",
        )
    if settings.DEBUG and not set(settings.ALLOWED_HOSTS) <= set(settings.LOOPBACK):
        yield Error(
            "DEBUG is on for a public host.",
            hint=f"Unset DEBUG, or leave only loopback names in ALLOWED_HOSTS. {CONFIGURATION}",
            id="cartsvc.E005",
        )


def _check_jwt() -> Iterator[CheckMessage]:
    algorithm = settings.JWT_ALGORITHM
    if algorithm not in ALGORITHMS:
        yield Error(
            f"JWT_ALGORITHM is {algorithm!r}.",
            hint=f"Set it to one of {', '.join(ALGORITHMS)}. {CONFIGURATION}",
            id="cartsvc.E010",
        )
    elif algorithm == "HS256":
        yield from _check_shared_key()
    else:
        yield from _check_public_key(algorithm)


def _check_shared_key() -> Iterator[CheckMessage]:
    if not settings.JWT_SIGNING_KEY:
        yield Error(
            "JWT_SIGNING_KEY is not set.",
            hint="HS256 verifies tokens with the key that the issuer signs them with: set "
            "JWT_SIGNING_KEY to it, or set JWT_ALGORITHM to RS256 or ES256 and "
            f"JWT_VERIFYING_KEY or JWT_JWK_URL. {CONFIGURATION}",
            id="cartsvc.E011",
        )
    elif len(settings.JWT_SIGNING_KEY.encode()) < MIN_HS256_BYTES:
        yield Error(
            f"JWT_SIGNING_KEY is shorter than {MIN_HS256_BYTES} bytes.",
            hint="Set JWT_SIGNING_KEY to at least that many random bytes, as RFC 7518 demands. "
            f"{CONFIGURATION}",
            id="cartsvc.E012",
        )
    if settings.JWT_VERIFYING_KEY or settings.JWT_JWK_URL:
        yield Error(
            "JWT_VERIFYING_KEY or JWT_JWK_URL is set, but JWT_ALGORITHM is HS256.",
            hint="Set JWT_ALGORITHM to what the issuer signs with: RS256 or ES256. "
            f"{CONFIGURATION}",
            id="cartsvc.E013",
        )


def _check_public_key(algorithm: str) -> Iterator[CheckMessage]:
    if bool(settings.JWT_VERIFYING_KEY) == bool(settings.JWT_JWK_URL):
        yield Error(
            f"{algorithm} needs either JWT_VERIFYING_KEY or JWT_JWK_URL.",
            hint="Set JWT_VERIFYING_KEY to the issuer's public key (PEM; \\n for line breaks), "
            f"or JWT_JWK_URL to where the issuer publishes its keys; not both. {CONFIGURATION}",
            id="cartsvc.E014",
        )
    elif settings.JWT_VERIFYING_KEY:
        try:
            load_pem_public_key(settings.JWT_VERIFYING_KEY.encode())
        except (ValueError, UnsupportedAlgorithm):
            yield Error(
                "JWT_VERIFYING_KEY is not a public key in PEM.",
                hint=f"It begins with -----BEGIN PUBLIC KEY-----. {CONFIGURATION}",
                id="cartsvc.E015",
            )
    elif not settings.JWT_JWK_URL.startswith(("https://", "http://127.0.0.1", "http://localhost")):
        yield Error(
            "JWT_JWK_URL is not an https:// address.",
            hint="Set it to an https:// address: keys that come over an open line can be exchanged "
            f"on the way. {CONFIGURATION}",
            id="cartsvc.E016",
        )


def _check_limits() -> Iterator[CheckMessage]:
    for name in ("MAX_BODY_BYTES", "MAX_ITEMS", "MAX_OPTIONS", "IDEMPOTENCY_HOURS"):
        if getattr(settings, name) < 1:
            yield Error(
                f"{name} is below 1.",
                hint=f"Set {name} to 1 or more, or unset it. {CONFIGURATION}",
                id="cartsvc.E020",
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
            hint="Set it to host and port, such as 127.0.0.1:9100, or leave it unset. "
            "(cartsvc/README.md, Metrics)",
            id="cartsvc.E032",
        )
    ]


def _rate_limit_problems() -> Iterator[CheckMessage]:
    if not settings.THROTTLE_RATE:
        return
    if not parse_rate(settings.THROTTLE_RATE):
        yield Error(
            f"THROTTLE_RATE is {settings.THROTTLE_RATE!r}.",
            hint="Set it to a number of requests a period, such as 100/min, or leave it unset. "
            "(cartsvc/README.md, Rate limits)",
            id="cartsvc.E030",
        )
    if settings.CACHES["default"]["BACKEND"] != COUNTING_CACHE:
        yield Error(
            "THROTTLE_RATE is set, but the cache cannot count for all workers.",
            hint="Set CACHE_URL to a Redis that all workers share, such as redis://host:6379/0. "
            "(cartsvc/README.md, Rate limits)",
            id="cartsvc.E031",
        )


@register(Tags.database)
def check_connections(databases: Sequence[str] | None = None, **_kwargs: Any) -> list[CheckMessage]:
    """Every thread of every worker keeps a connection (manage.py check --database default)."""
    wanted = settings.WEB_CONCURRENCY * settings.THREADS
    return [
        checks.Warning(
            f"WEB_CONCURRENCY × THREADS is {wanted}, but {alias!r} takes {allowed} connections.",
            hint="Raise max_connections, or lower WEB_CONCURRENCY or THREADS. "
            "(cartsvc/README.md, Production)",
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
