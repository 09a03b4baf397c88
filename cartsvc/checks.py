"""System checks of what only this service knows: settings that need others, and the database."""

import os
from collections.abc import Iterator, Sequence
from difflib import get_close_matches

import jwt
from django.conf import settings
from django.core import checks
from django.core.checks import CheckMessage, Error, Tags, register
from django.db import connection


@register(Tags.security)
def check_configuration(**_kwargs: object) -> Iterator[CheckMessage]:
    if settings.IS_PUBLIC and not settings.DATABASE_URL:
        yield Error(
            "ALLOWED_HOSTS names a public host, but DATABASE_URL is not set.",
            "Set it to postgres://user:password@host:5432/name, or to sqlite:////path/to/file.",
            id="cartsvc.E002",
        )
    if settings.JWT_ALGORITHM != "HS256":
        yield from _check_public_key()
    elif error := _error_of_key(settings.JWT_SIGNING_KEY):
        yield Error(
            f"JWT_SIGNING_KEY cannot be used with HS256: {error}",
            "Set it to the key that the issuer signs with, or JWT_ALGORITHM to RS256 or ES256.",
            id="cartsvc.E011",
        )
    if settings.SECRET_KEY == settings.JWT_SIGNING_KEY:
        yield Error(
            "SECRET_KEY and JWT_SIGNING_KEY are the same.",
            "The issuer shares one and must not know the other.",
            id="cartsvc.E007",
        )


def _check_public_key() -> Iterator[CheckMessage]:
    algorithm, key = settings.JWT_ALGORITHM, settings.JWT_VERIFYING_KEY
    if bool(key) == bool(settings.JWT_JWK_URL):
        yield Error(
            f"{algorithm} needs either JWT_VERIFYING_KEY or JWT_JWK_URL.",
            "Set one of them: the issuer's public key in PEM, or where it publishes its keys.",
            id="cartsvc.E014",
        )
    # PyJWT takes a private key as well, and fails at the first token.
    elif key and (error := "it is private" if "PRIVATE" in key else _error_of_key(key)):
        yield Error(
            f"JWT_VERIFYING_KEY cannot be used with {algorithm}: {error}",
            "Set it to one PUBLIC KEY. openssl x509 -pubkey -noout takes it from a certificate, "
            "and openssl pkey -pubout from a private key.",
            id="cartsvc.E015",
        )
    elif settings.JWT_JWK_URL and not (settings.JWT_ISSUER or settings.JWT_AUDIENCE):
        yield Error(
            "JWT_JWK_URL is set, but neither JWT_ISSUER nor JWT_AUDIENCE.",
            "An issuer signs tokens for other services with the same keys: set what iss or aud "
            "must be, or both.",
            id="cartsvc.E017",
        )


def _error_of_key(key: str) -> str | None:
    if key.startswith("-----BEGIN") and "\n" not in key.strip():
        return "it ends after its first line; \\n stands for a line break."
    algorithm = jwt.get_algorithm_by_name(settings.JWT_ALGORITHM)
    try:
        return algorithm.check_key_length(algorithm.prepare_key(key))
    except (jwt.PyJWTError, ValueError, TypeError) as error:
        return str(error)


@register(Tags.security)
def check_names(**_kwargs: object) -> Iterator[CheckMessage]:
    for variable in os.environ:
        name = variable.removesuffix("_FILE")
        near = get_close_matches(name, settings.VARIABLES, n=1, cutoff=0.85)
        if near and name not in settings.VARIABLES:
            text = f"{variable} is no setting."
            yield checks.Warning(text, f"Is it {near[0]}?", id="cartsvc.W001")
    if settings.MAX_CART_OPTIONS < settings.MAX_OPTIONS:
        text = "MAX_CART_OPTIONS is below MAX_OPTIONS: no item can have as many."
        yield checks.Warning(text, "Lower MAX_OPTIONS.", id="cartsvc.W003")


@register(Tags.security, deploy=True)
def check_profiles(**_kwargs: object) -> Iterator[CheckMessage]:
    if not settings.JWT_REQUIRE_PROFILE:
        yield checks.Warning(
            "JWT_REQUIRE_PROFILE is off. A token without profileKey opens all customers' data.",
            "Set it to 1: issuers drop claims without a word.",
            id="cartsvc.W043",
        )


@register(Tags.database)
def check_sessions(
    databases: Sequence[str] | None = None, **_kwargs: object
) -> Iterator[CheckMessage]:
    """Compare a session on PostgreSQL with what was asked for: a pooler may drop such settings.

    Without one, compare the connections of two instances, as during an upgrade, with its limit.
    """
    if not databases or connection.vendor != "postgresql":
        return
    wanted = {**connection.settings_dict["SESSION"], "server_encoding": "UTF8"}
    with connection.cursor() as cursor:
        cursor.execute(SELECT_SETTINGS, [list(wanted)])
        session = cursor.fetchall()
        cursor.execute("SHOW max_connections")
        allowed = int(cursor.fetchone()[0])
    for name, found, role in session:
        if found != wanted[name]:
            yield Error(
                f"A session on {connection.alias!r} has {name} = {found}, not {wanted[name]}.",
                "Make the database with ENCODING 'UTF8'."
                if name == "server_encoding"
                else f"ALTER ROLE {role} SET {name} = '{wanted[name]}'; then have the pooler "
                "connect anew. Without one, find out what drops the `options` of a connection.",
                id="cartsvc.E034",
            )
    held = 2 * settings.WEB_CONCURRENCY * (settings.THREADS + 2)
    if held > allowed and not settings.DATABASE_ADMIN_URL:
        yield checks.Warning(
            f"Two instances may hold {held} connections, and max_connections is {allowed}.",
            "Lower WEB_CONCURRENCY or THREADS, raise max_connections, or put a pooler between.",
            id="cartsvc.W035",
        )


SELECT_SETTINGS = (
    "SELECT name, setting, quote_ident(current_user) FROM pg_settings WHERE name = ANY(%s)"
)
