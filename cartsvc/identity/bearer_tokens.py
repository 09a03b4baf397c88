"""Bearer tokens (RFC 6750): verify a token and read the caller's identity from its claims."""

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, lru_cache
from math import inf
from typing import Any, Self, TypeVar, cast

from django.conf import settings
from jwt.exceptions import (
    DecodeError,
    ExpiredSignatureError,
    InvalidAlgorithmError,
    InvalidTokenError,
    PyJWTError,
)
from rest_framework_simplejwt.backends import TokenBackend
from rest_framework_simplejwt.exceptions import TokenBackendError, TokenBackendExpiredToken

from cartsvc.characters import UNPRINTABLE
from cartsvc.identity.issuer_keys import IssuerKeys
from cartsvc.request_errors import InsufficientScope, InvalidToken, NotAuthenticated, Unavailable
from cartsvc.serving.logs import warn_once_a_minute

# A busy caller sends the same token each time, and verifying it is dear. All that are remembered
# take a few megabytes at most: no header is longer than HEADER_MAX_LENGTH.
MAX_REMEMBERED_TOKENS = 1000

REALM = 'Bearer realm="cartsvc"'
INVALID = f'{REALM}, error="invalid_token"'
HAS_EXPIRED = "The token has expired."


class InvalidClaim(ValueError):
    """A claim that is missing, or that the service does not take."""


# The exceptions that the libraries raise for a malformed token.
MALFORMED = (TokenBackendError, PyJWTError, ValueError, TypeError, OverflowError, RecursionError)

Claims = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Bearer:
    sub: str
    scopes: frozenset[str]

    @classmethod
    def of_claims(cls, claims: Claims) -> Self:
        return cls(text_claim(claims, "sub"), _scopes(claims))

    def check_scope(self, scopes: Sequence[str], *, needs_all: bool = False) -> None:
        """Raise `insufficient_scope` if none of the scopes is there, or if not all are."""
        held = self.scopes
        if not held.issuperset(scopes) if needs_all else held.isdisjoint(scopes):
            missing = [scope for scope in scopes if scope not in held]
            named = (" and " if needs_all else " or ").join(missing)
            needed = " ".join(missing if needs_all else missing[-1:])
            challenge = f'{REALM}, error="insufficient_scope", scope="{needed}"'
            headers = {"WWW-Authenticate": challenge}
            raise InsufficientScope(named=named, scopes=missing, headers=headers)


BearerT = TypeVar("BearerT", bound=Bearer)


@cache
def token_backend() -> TokenBackend:
    backend = TokenBackend(
        settings.JWT_ALGORITHM,
        settings.JWT_SIGNING_KEY,
        settings.JWT_VERIFYING_KEY,
        settings.JWT_AUDIENCE or None,
        settings.JWT_ISSUER or None,
        leeway=settings.JWT_LEEWAY,
    )
    if settings.JWT_JWK_URL:
        backend.jwks_client = IssuerKeys(settings.JWT_JWK_URL)
    return backend


def fetch_issuer_keys() -> bool:
    """Return whether the issuer's first keys have come, if JWT_JWK_URL is set, or come now."""
    client = cast("IssuerKeys | None", token_backend().jwks_client)
    if client and client.age() == inf:
        with suppress(Unavailable):
            client.get_jwk_set()
    return not client or client.age() < inf


def bearer_of(authorization: str, kind: type[BearerT]) -> BearerT:
    """Return the bearer of a request with this Authorization: `Bearer <token>` and nothing else.

    The `kind` of bearer says which claims are read. Raise `not_authenticated`, `invalid_token`, or
    `unavailable` when the issuer's keys cannot be fetched.
    """
    scheme, _, credentials = authorization.partition(" ")
    credentials = credentials.strip(" ")
    if scheme.lower() != "bearer" or not credentials:
        raise NotAuthenticated(headers={"WWW-Authenticate": REALM})
    backend = token_backend()
    try:
        keys = backend.jwks_client.get_jwk_set() if backend.jwks_client else backend
        bearer, ends = _verify(credentials, cast("Any", kind), keys)
    except (ExpiredSignatureError, TokenBackendExpiredToken) as error:  # of a good signature
        raise _expired() from error
    except MALFORMED as error:
        _log_claim(error)
        raise InvalidToken(headers={"WWW-Authenticate": INVALID}) from error
    if ends <= time.time():  # since it was verified
        raise _expired()
    return bearer


def _expired() -> InvalidToken:
    challenge = f'{INVALID}, error_description="{HAS_EXPIRED}"'
    return InvalidToken(HAS_EXPIRED, headers={"WWW-Authenticate": challenge})


def _log_claim(error: BaseException) -> None:
    """Log what is wrong with a claim of a well-signed token. The caller is not told."""
    while error.__cause__:
        error = error.__cause__
    text = str(error)
    # Others come before the signature is verified, save of an `exp` or `nbf` of another type.
    is_unsigned = isinstance(error, DecodeError | InvalidAlgorithmError)
    of_claim = isinstance(error, InvalidTokenError | InvalidClaim) and not is_unsigned
    if of_claim or text.endswith("must be an integer."):
        warn_once_a_minute(f"A token with a good signature was refused: {text}")


@lru_cache(MAX_REMEMBERED_TOKENS)
def _verify(credentials: str, kind: type[BearerT], _keys: object) -> tuple[BearerT, int]:
    """Return the bearer of a token, and its end. It is verified again only after new `_keys`."""
    claims = token_backend().decode(cast("Any", credentials))  # it takes the text
    try:
        datetime.fromtimestamp(claims["exp"], UTC)
    except (KeyError, OSError, OverflowError, TypeError, ValueError):
        raise InvalidClaim("The claim exp is missing, or is no time in seconds.") from None
    if claims.get("token_type", "access") != "access":  # other issuers' have none
        raise InvalidClaim("The claim token_type is not access.")
    return kind.of_claims(claims), int(claims["exp"]) + settings.JWT_LEEWAY


def text_claim(claims: Claims, name: str) -> str:
    """Return the claim as text that is safe to store, compare and show on a page."""
    text = claims.get(name)
    if not isinstance(text, str) or not text or UNPRINTABLE.search(text):
        raise InvalidClaim(f"The claim {name} is missing, or is no text of one line.")
    return text


def _scopes(claims: Claims) -> frozenset[str]:
    granted = claims.get("scope", claims.get("scp"))
    if isinstance(granted, str):
        return frozenset(granted.split(" "))
    scopes = granted if isinstance(granted, list) else ()
    return frozenset(scope for scope in scopes if isinstance(scope, str))
