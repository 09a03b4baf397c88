"""System checks of what needs two settings, or the database. Each says what to set.

`settings.py` refuses what is wrong by itself; Django and its packages check their own settings.
"""

import os
import re
from collections.abc import Iterator
from typing import Any

import jwt
from django.conf import settings
from django.core import checks
from django.core.checks import CheckMessage, Tags, register
from django.db import connection
from redis import ConnectionPool

from cartsvc.environment_variables import DIFFERENT_CHARACTERS

# RFC 7518, section 3.2: the key is at least as long as the hash output.
MIN_HS256_BYTES = 32
KEYS = {"RS256": "of RSA, with 2048 bits or more", "ES256": "of the curve P-256"}
PEM_LABEL = re.compile("-----BEGIN (.+?)-----")


def told(number: str, text: str, hint: str, section: str = "Configuration") -> CheckMessage:
    """Return an error or a warning, by the first letter of its number."""
    kind = checks.Error if number.startswith("E") else checks.Warning
    return kind(text, f"{hint} (cartsvc/README.md, {section})", id=f"cartsvc.{number}")


@register(Tags.security)
def check_configuration(**_kwargs: Any) -> list[CheckMessage]:
    of_tokens = _check_shared_key if settings.JWT_ALGORITHM == "HS256" else _check_public_key
    return [*_check_secret_key(), *of_tokens(), *_check_servers(), *_check_ignored()]


def _check_secret_key() -> Iterator[CheckMessage]:
    if not settings.SECRET_KEY_IS_SET:
        yield told(
            "E001",
            "SECRET_KEY is not set.",
            "A configured database has no generated secrets. Set SECRET_KEY to 50 or more random "
            "characters: python -c 'import secrets; print(secrets.token_urlsafe(50))'",
        )
    elif settings.SECRET_KEY == settings.JWT_SIGNING_KEY:
        yield told(
            "E007",
            "SECRET_KEY and JWT_SIGNING_KEY are the same.",
            "The issuer shares one and must not know the other: set SECRET_KEY to 50 or more "
            "random characters of its own.",
        )


def _check_servers() -> Iterator[CheckMessage]:
    if settings.IS_PUBLIC and not settings.DATABASE_URL_IS_SET:
        yield told(
            "E002",
            "ALLOWED_HOSTS names a public host, but DATABASE_URL is not set.",
            "The service would begin with an empty SQLite database. Set DATABASE_URL to "
            "postgres://user:password@host:5432/name, or to sqlite:////path/to/file if one file is "
            "what you want.",
        )
    if settings.THROTTLE_RATE and not settings.CACHE_URL:
        yield told(
            "E031",
            "THROTTLE_RATE is set, but CACHE_URL is not.",
            "Set CACHE_URL to a Redis that all workers share, such as redis://host:6379/0.",
            "Rate limits",
        )
    try:
        if settings.CACHE_URL:
            ConnectionPool.from_url(settings.CACHE_URL).make_connection()  # which connects later
    except (TypeError, ValueError) as error:
        yield told(
            "E038",
            f"CACHE_URL cannot be used ({error}).",
            "Set it to redis://:password@host:6379/0, or to rediss://… with TLS.",
            "Rate limits",
        )
    if settings.METRICS_BIND == settings.BIND:
        text = f"METRICS_BIND and BIND are both {settings.BIND!r}."
        yield told("E037", text, "Set METRICS_BIND to another port: its own.", "Metrics")


def _check_ignored() -> Iterator[CheckMessage]:
    if (settings.BASE_DIR / ".env").exists():
        yield told("W041", "The file .env is not read.", "Run `set -a; . ./.env` before.")
    if "DEBUG" in os.environ:
        yield told("W042", "DEBUG is no setting, and stays off.", "Errors are in the log.")


def _check_shared_key() -> Iterator[CheckMessage]:
    key = settings.JWT_SIGNING_KEY
    if len(key.encode()) < MIN_HS256_BYTES or len(set(key)) < DIFFERENT_CHARACTERS:
        yield told(
            "E011",
            f"JWT_SIGNING_KEY is not set, shorter than {MIN_HS256_BYTES} bytes, or not random.",
            "HS256 verifies tokens with the key that the issuer signs them with: set "
            "JWT_SIGNING_KEY to it, or set JWT_ALGORITHM to RS256 or ES256 and JWT_VERIFYING_KEY "
            "or JWT_JWK_URL.",
        )
    elif not _is_shared(key):
        yield told(
            "E012",
            "JWT_SIGNING_KEY is of a pair of keys, but JWT_ALGORITHM is HS256.",
            "Set JWT_ALGORITHM to what the issuer signs with, RS256 or ES256, and "
            "JWT_VERIFYING_KEY to its public key.",
        )
    if settings.JWT_VERIFYING_KEY or settings.JWT_JWK_URL:
        yield told(
            "E013",
            "JWT_VERIFYING_KEY or JWT_JWK_URL is set, but JWT_ALGORITHM is HS256.",
            "Set JWT_ALGORITHM to what the issuer signs with: RS256 or ES256.",
        )


def _is_shared(key: str) -> bool:
    """Return whether PyJWT takes the key for HS256. With another, it refuses every token."""
    try:
        jwt.get_algorithm_by_name("HS256").prepare_key(key)
    except jwt.PyJWTError:
        return False
    return True


def _check_public_key() -> Iterator[CheckMessage]:
    algorithm, pem = settings.JWT_ALGORITHM, settings.JWT_VERIFYING_KEY
    if bool(pem) == bool(settings.JWT_JWK_URL):
        yield told(
            "E014",
            f"{algorithm} needs either JWT_VERIFYING_KEY or JWT_JWK_URL.",
            "Set JWT_VERIFYING_KEY to the issuer's public key in PEM (\\n for line breaks), or "
            "JWT_JWK_URL to where the issuer publishes its keys; not both.",
        )
    elif pem and not _fits(algorithm, pem):
        yield told(
            "E015",
            f"JWT_VERIFYING_KEY holds {' and '.join(PEM_LABEL.findall(pem)) or 'nothing in PEM'}, "
            f"not one PUBLIC KEY {KEYS[algorithm]}.",
            "Set it to that alone. openssl x509 -pubkey -noout takes it from a certificate, and "
            "openssl pkey -pubout from a private key, which no one but the issuer may have.",
        )
    elif settings.JWT_JWK_URL and not (settings.JWT_ISSUER or settings.JWT_AUDIENCE):
        yield told(
            "E017",
            "JWT_JWK_URL is set, but neither JWT_ISSUER nor JWT_AUDIENCE.",
            "An issuer signs tokens for other services with the same keys: set what iss or aud "
            "must be, or both.",
        )


def _fits(algorithm: str, pem: str) -> bool:
    """Return whether a text is one public key of the algorithm, and long enough."""
    labels = PEM_LABEL.findall(pem)
    if len(labels) != 1 or not labels[0].endswith("PUBLIC KEY"):
        return False
    implementation = jwt.get_algorithm_by_name(algorithm)
    try:
        return not implementation.check_key_length(implementation.prepare_key(pem))
    except (jwt.PyJWTError, ValueError, TypeError):
        return False


@register(Tags.security, deploy=True)
def check_deployment(**_kwargs: Any) -> list[CheckMessage]:
    """Say what a token opens from which an issuer has dropped the claim."""
    if settings.JWT_REQUIRE_PROFILE:
        text = f"A token without profileKey needs the scope {settings.ANY_PROFILE_SCOPE}."
        return [checks.Info(f"JWT_REQUIRE_PROFILE is on. {text}", id="cartsvc.I043")]
    text = "JWT_REQUIRE_PROFILE is off. A token without profileKey opens all customers' data."
    return [told("W043", text, "Set it to 1: issuers drop claims without a word.")]


@register(Tags.database)
def check_database(databases: Any = None, **_kwargs: Any) -> Iterator[CheckMessage]:
    """Tell what is wrong with the PostgreSQL server. A file of SQLite is not touched.

    `serve`, `migrate` and `manage.py check --database default` run this check.
    """
    if not databases or connection.vendor != "postgresql":
        return
    asked_for = connection.settings_dict["SESSION"]
    with connection.cursor() as cursor:
        cursor.execute(SESSION, [list(asked_for)])
        session = cursor.fetchall()
        cursor.execute("SHOW server_encoding")
        ((encoding,),) = cursor.fetchall()
    # A pooler may drop such settings and say nothing.
    for name, found, role in session:
        if found != (wanted := asked_for[name]):
            yield told(
                "E034",
                f"A session on {connection.alias!r} has {name} = {found}, not {wanted}.",
                f"ALTER ROLE {role} SET {name} = '{wanted}'; then have the pooler connect anew. "
                "Without a pooler, find out what drops the `options` of a connection.",
                "A pooler",
            )

    if encoding != "UTF8":
        yield told(
            "E035",
            f"The database at {connection.alias!r} is encoded in {encoding}, not UTF8.",
            "Make it with CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0, and move the data "
            "there.",
            "Production",
        )


SESSION = "SELECT name, setting, quote_ident(current_user) FROM pg_settings WHERE name = ANY(%s)"
