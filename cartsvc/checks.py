"""System checks of what needs two settings, or the database. Each says what to set.

`settings.py` refuses what is wrong by itself; Django and its packages check their own settings.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.serialization import load_pem_public_key
from django.conf import settings
from django.core import checks
from django.core.checks import CheckMessage, Error, Tags, register
from django.db import OperationalError, connections

# Ends a hint: the section of the README to read.
CONFIGURATION = "(cartsvc/README.md, Configuration)"

# RFC 7518, section 3.2: the key is at least as long as the hash output.
MIN_HS256_BYTES = 32
# Section 3.3.
MIN_RS256_BITS = 2048
KEYS = {"RS256": f"of RSA, with {MIN_RS256_BITS} bits or more", "ES256": "of the curve P-256"}


@register(Tags.security)
def check_configuration(**_kwargs: Any) -> list[CheckMessage]:
    if settings.JWT_ALGORITHM == "HS256":
        of_tokens = _check_shared_key()
    else:
        of_tokens = _check_public_key(settings.JWT_ALGORITHM)
    return [*_check_secret_key(), *of_tokens, *_check_rate_limit(), *_check_addresses()]


def _check_secret_key() -> Iterator[CheckMessage]:
    if not settings.SECRET_KEY_IS_SET:
        yield Error(
            "SECRET_KEY is not set.",
            hint="A configured database has no generated secrets. Set SECRET_KEY to 50 or more "
            "random characters: python -c 'import secrets; print(secrets.token_urlsafe(50))' "
            f"{CONFIGURATION}",
            id="cartsvc.E001",
        )
    elif settings.SECRET_KEY == settings.JWT_SIGNING_KEY:
        yield Error(
            "SECRET_KEY and JWT_SIGNING_KEY are the same.",
            hint="The issuer shares one and must not know the other: set SECRET_KEY to 50 or more "
            f"random characters of its own. {CONFIGURATION}",
            id="cartsvc.E007",
        )


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
    elif settings.JWT_VERIFYING_KEY and not _fits(algorithm, settings.JWT_VERIFYING_KEY):
        yield Error(
            f"JWT_VERIFYING_KEY is not a public key for {algorithm} in PEM.",
            hint=f"It begins with -----BEGIN PUBLIC KEY-----, and is {KEYS[algorithm]}. "
            f"{CONFIGURATION}",
            id="cartsvc.E015",
        )
    elif settings.JWT_JWK_URL and not (settings.JWT_ISSUER or settings.JWT_AUDIENCE):
        yield Error(
            "JWT_JWK_URL is set, but neither JWT_ISSUER nor JWT_AUDIENCE.",
            hint="An issuer signs tokens for other services with the same keys: set what iss or "
            f"aud must be, or both. {CONFIGURATION}",
            id="cartsvc.E017",
        )


def _fits(algorithm: str, pem: str) -> bool:
    """Return whether a text is a public key of the algorithm (RFC 7518, sections 3.3 and 3.4)."""
    try:
        key = load_pem_public_key(pem.encode())
    except (ValueError, UnsupportedAlgorithm):
        return False
    if algorithm == "RS256":
        return isinstance(key, RSAPublicKey) and key.key_size >= MIN_RS256_BITS
    return isinstance(key, EllipticCurvePublicKey) and isinstance(key.curve, SECP256R1)


def _check_rate_limit() -> Iterator[CheckMessage]:
    if settings.THROTTLE_RATE and settings.CACHE_URL.startswith("locmem:"):
        yield Error(
            "THROTTLE_RATE is set, but the cache cannot count for all workers.",
            hint="Set CACHE_URL to a Redis that all workers share, such as redis://host:6379/0. "
            "(cartsvc/README.md, Rate limits)",
            id="cartsvc.E031",
        )


def _check_addresses() -> Iterator[CheckMessage]:
    if settings.METRICS_BIND == settings.BIND:
        yield Error(
            f"METRICS_BIND and BIND are both {settings.BIND!r}.",
            hint="Set METRICS_BIND to another port: its own. (cartsvc/README.md, Metrics)",
            id="cartsvc.E037",
        )


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
                        hint="Start it, or correct DATABASE_URL; where that leads to a pooler, set "
                        f"DATABASE_ADMIN_URL, too. {CONFIGURATION}",
                        id="cartsvc.E039",
                    )
                )
    return found


def _check_session(alias: str) -> Iterator[CheckMessage]:
    # A pooler may drop such settings and say nothing.
    asked_for = connections[alias].settings_dict["SESSION"]
    for name, found, role in _asked(alias, SESSION, [list(asked_for)]):
        if found != (wanted := asked_for[name]):
            yield Error(
                f"A session on {alias!r} has {name} = {found}, not {wanted}.",
                hint=f"ALTER ROLE {role} SET {name} = '{wanted}'; then have the pooler connect "
                "anew. Without a pooler, find out what drops the `options` of a connection. "
                "(cartsvc/README.md, A pooler)",
                id="cartsvc.E034",
            )


SESSION = "SELECT name, setting, quote_ident(current_user) FROM pg_settings WHERE name = ANY(%s)"


def _check_room(alias: str) -> Iterator[CheckMessage]:
    if settings.DATABASE_ADMIN_URL:  # a pooler lends one connection to many
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
