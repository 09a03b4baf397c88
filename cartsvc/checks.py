"""System checks that refuse an incomplete production configuration and say what to set."""

import math
import re
import socket
from collections.abc import Iterator, Sequence
from ipaddress import ip_network
from typing import Any

from django.conf import settings
from django.core import checks
from django.core.checks import CheckMessage, Error, Tags, register
from django.db import OperationalError, connections

from cartsvc.api.checks import CONFIGURATION, is_one_character, token_problems

MIN_SECRET_KEY = 32
POSITIVE = (
    "MAX_BODY_BYTES",
    "MAX_ITEMS",
    "MAX_OPTIONS",
    "MAX_CART_OPTIONS",
    "IDEMPOTENCY_HOURS",
    "WEB_CONCURRENCY",
    "THREADS",
)
NOT_NEGATIVE = (
    "DB_CONNECT_TIMEOUT",
    "DB_LOCK_TIMEOUT",
    "DB_STATEMENT_TIMEOUT",
    "DB_IDLE_TIMEOUT",
    "DB_PREPARE_THRESHOLD",
    "DRAIN_SECONDS",
)

# As browsers write it: in lower case, without a path, without the port that the scheme implies.
ORIGIN = re.compile(
    r"(?!https:.*:443$|http:.*:80$)"
    r"[a-z][a-z0-9+.-]*://([a-z0-9._-]+|\[[0-9a-f:.]+\])(:[1-9][0-9]{0,4})?"
)

HOST = re.compile(r"\.?[\w-]+(\.[\w-]+)*\.?|\[[0-9a-f:.]+\]", re.ASCII | re.IGNORECASE)

ADDRESS = re.compile(r"[\w.-]+:\d{1,5}")


@register(Tags.security)
def check_configuration(**_kwargs: Any) -> list[CheckMessage]:
    return [
        *_check_secret_key(),
        *_check_hosts(),
        *_check_origins(),
        *_check_proxies(),
        *token_problems(),
        *_check_limits(),
    ]


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
    elif is_one_character(settings.SECRET_KEY):
        yield Error(
            "SECRET_KEY is one character repeated.",
            hint=f"Set SECRET_KEY to 50 or more random characters. {CONFIGURATION}",
            id="cartsvc.E006",
        )
    elif settings.SECRET_KEY == settings.JWT_SIGNING_KEY:
        yield Error(
            "SECRET_KEY and JWT_SIGNING_KEY are the same.",
            hint="The issuer shares one and must not know the other: set SECRET_KEY to 50 or more "
            f"random characters of its own. {CONFIGURATION}",
            id="cartsvc.E007",
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
    for host in settings.ALLOWED_HOSTS:
        if host.strip("*.") and not HOST.fullmatch(host):
            yield Error(
                f"ALLOWED_HOSTS lists {host!r}, which is no name of a host.",
                hint="Set ALLOWED_HOSTS to names without a scheme, port or path, such as "
                f"api.example.com or .example.com. {CONFIGURATION}",
                id="cartsvc.E036",
            )
    wide = [
        host
        for host in settings.ALLOWED_HOSTS
        if host.startswith(".") and "." not in host.strip(".")
    ]
    if wide:
        yield Error(
            f"ALLOWED_HOSTS allows every host under {', '.join(wide)}.",
            hint="Set ALLOWED_HOSTS to the names under which the service is called, or to a domain "
            f"of your own, such as .example.com. {CONFIGURATION}",
            id="cartsvc.E008",
        )
    if settings.DEBUG and not set(settings.ALLOWED_HOSTS) <= set(settings.LOOPBACK):
        yield Error(
            "DEBUG is on for a public host.",
            hint=f"Unset DEBUG, or leave only loopback names in ALLOWED_HOSTS. {CONFIGURATION}",
            id="cartsvc.E005",
        )


def _check_origins() -> Iterator[CheckMessage]:
    for origin in settings.CORS_ALLOWED_ORIGINS:
        if not ORIGIN.fullmatch(origin):
            yield Error(
                f"CORS_ALLOWED_ORIGINS lists {origin!r}, which no page has for its origin.",
                hint="Set CORS_ALLOWED_ORIGINS to scheme and host in lower case, and the port "
                "where it is not the scheme's own, without a path: https://shop.example.com. "
                f"Separate several by a comma alone. {CONFIGURATION}",
                id="cartsvc.E009",
            )


def _check_proxies() -> Iterator[CheckMessage]:
    for address in settings.FORWARDED_ALLOW_IPS:
        try:
            _ = address == "*" or ip_network(address, strict=False)
        except ValueError:
            yield Error(
                f"FORWARDED_ALLOW_IPS lists {address!r}, which is no address.",
                hint="Set FORWARDED_ALLOW_IPS to the addresses of the proxies, such as 10.0.0.9, "
                f"separated by commas. {CONFIGURATION}",
                id="cartsvc.E038",
            )


def _check_limits() -> Iterator[CheckMessage]:
    for name in POSITIVE:
        if getattr(settings, name) < 1:
            yield Error(
                f"{name} is below 1.",
                hint=f"Set {name} to 1 or more, or unset it. {CONFIGURATION}",
                id="cartsvc.E020",
            )
    for name in NOT_NEGATIVE:
        if not 0 <= getattr(settings, name) < math.inf:
            yield Error(
                f"{name} is {getattr(settings, name)}.",
                hint=f"Set {name} to 0 or more, or unset it. {CONFIGURATION}",
                id="cartsvc.E021",
            )


@register(Tags.security)
def check_metrics(**_kwargs: Any) -> list[CheckMessage]:
    """Return an error for a METRICS_BIND that is no address, a warning for a public one."""
    host, _, port = settings.METRICS_BIND.rpartition(":")
    if not settings.METRICS_BIND:
        return []
    if not ADDRESS.fullmatch(settings.METRICS_BIND) or int(port) > 65535:
        return [
            Error(
                f"METRICS_BIND is {settings.METRICS_BIND!r}.",
                # A port without a host would listen on every interface.
                hint="Set it to host and port, such as 127.0.0.1:9100, or leave it unset. "
                "(cartsvc/README.md, Metrics)",
                id="cartsvc.E032",
            )
        ]
    if settings.METRICS_BIND == settings.BIND:
        return [
            Error(
                f"METRICS_BIND and BIND are both {settings.BIND!r}.",
                hint="Set METRICS_BIND to another port: its own. (cartsvc/README.md, Metrics)",
                id="cartsvc.E037",
            )
        ]
    if _is_every_interface(host):
        return [
            checks.Warning(
                f"METRICS_BIND is {settings.METRICS_BIND!r}: every interface.",
                hint="Set it to the address that Prometheus calls, such as 127.0.0.1:9100: "
                "the metrics ask for no token. (cartsvc/README.md, Metrics)",
                id="cartsvc.W031",
            )
        ]
    return []


def _is_every_interface(host: str) -> bool:
    """Return whether the host is 0.0.0.0, which may also be written shorter, such as 0."""
    try:
        return socket.inet_aton(host) == bytes(4)
    except OSError:
        return False


@register()  # for every command but `serve`, which runs the checks of security only
def check_pooler(**_kwargs: Any) -> list[CheckMessage]:
    """Return an error where a command would go through a pooler, with the requests' timeouts."""
    if not settings.DB_POOLER or settings.DATABASE_ADMIN_URL:
        return []
    return [
        Error(
            "DB_POOLER is set, and DATABASE_ADMIN_URL is not.",
            hint="Set DATABASE_ADMIN_URL to the database itself, past the pooler: a migration or "
            "a purge may take longer than the pooler's connections allow. "
            "(cartsvc/README.md, A pooler)",
            id="cartsvc.E033",
        )
    ]


@register(Tags.database)
def check_servers(databases: Sequence[str] | None = None, **_kwargs: Any) -> list[CheckMessage]:
    """Return what is wrong with each PostgreSQL server. A file of SQLite is not touched.

    `serve`, `migrate` and `manage.py check --database default` run this check.
    """
    found: list[CheckMessage] = []
    for alias in databases or ():
        if connections[alias].vendor == "postgresql":
            try:
                found += [*_check_session(alias), *_check_room(alias), *_check_encoding(alias)]
            except OperationalError as error:
                found.append(
                    Error(
                        f"The database cannot be used: {str(error).strip()}",
                        hint=f"Start it, or correct DATABASE_URL. {CONFIGURATION}",
                        id="cartsvc.E039",
                    )
                )
    return found


def _check_session(alias: str) -> Iterator[CheckMessage]:
    # A pooler may drop such settings and say nothing.
    for name, found, role in _asked(alias, SESSION, [list(settings.DB_SESSION)]):
        if found != (wanted := settings.DB_SESSION[name]):
            yield Error(
                f"A session on {alias!r} has {name} = {found}, not {wanted}.",
                hint=f"ALTER ROLE {role} SET {name} = '{wanted}'; then have the pooler connect "
                "anew. Without a pooler, find out what drops the `options` of a connection. "
                "(cartsvc/README.md, A pooler)",
                id="cartsvc.E034",
            )


SESSION = "SELECT name, setting, quote_ident(current_user) FROM pg_settings WHERE name = ANY(%s)"


def _check_room(alias: str) -> Iterator[CheckMessage]:
    if settings.DB_POOLER:  # it lends one connection to many
        return
    wanted = settings.WEB_CONCURRENCY * settings.THREADS  # each thread keeps one
    for (allowed,) in _asked(alias, ALLOWED_CONNECTIONS):
        if allowed < wanted:
            yield checks.Warning(
                f"WEB_CONCURRENCY × THREADS is {wanted}, but {alias!r} takes {allowed} "
                "connections.",
                hint="Raise max_connections, or lower WEB_CONCURRENCY or THREADS. "
                "(cartsvc/README.md, Production)",
                id="cartsvc.W030",
            )


ALLOWED_CONNECTIONS = (
    "SELECT current_setting('max_connections')::int"
    " - current_setting('superuser_reserved_connections')::int"
)


def _check_encoding(alias: str) -> Iterator[CheckMessage]:
    for (found,) in _asked(alias, "SHOW server_encoding"):
        if found != "UTF8":
            yield Error(
                f"The database at {alias!r} is encoded in {found}, not UTF8.",
                hint="Make it with CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0, and move "
                "the data there. (cartsvc/README.md, Production)",
                id="cartsvc.E035",
            )


def _asked(alias: str, sql: str, parameters: Sequence[Any] = ()) -> list[Any]:
    with connections[alias].cursor() as cursor:
        cursor.execute(sql, parameters)
        return cursor.fetchall()
