"""A bearer token becomes the identity and the claims of who sent it.

The service is an OAuth 2.0 resource server: it verifies JSON Web Tokens of others
and looks nobody up. Source: section "Authentication" of the specification, RFC 6750.
"""

from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from typing import Any, cast
from uuid import UUID

from django.conf import settings
from jwt import PyJWKClient, PyJWKClientConnectionError, PyJWTError
from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request
from rest_framework_simplejwt.backends import TokenBackend
from rest_framework_simplejwt.exceptions import ExpiredTokenError, TokenError
from rest_framework_simplejwt.tokens import Token

from cartsvc.api.guids import parse_guid
from cartsvc.api.jwks import IssuerKeys
from cartsvc.api.problems import INVALID_TOKEN, NOT_AUTHENTICATED, UNAVAILABLE
from cartsvc.api.texts import control_character
from cartsvc.api.verified import VerifiedTokens

REALM = 'Bearer realm="cartsvc"'
INVALID = f'{REALM}, error="invalid_token"'
EXPIRED = "The token has expired."

# What a token of the wrong shape makes the libraries raise.
UNREADABLE = (TokenError, PyJWTError, ValueError, TypeError, OverflowError, RecursionError)


@dataclass(frozen=True, slots=True)
class Bearer:
    """Who sent the request, in the words of the verified token.

    `profile_key` and `partner_key` are None for a trusted back end's token, which is
    not bound to a customer or a partner.
    """

    subject: str
    scopes: frozenset[str]
    profile_key: UUID | None
    partner_key: str | None

    is_authenticated = True


def bearer_of(request: Request) -> Bearer:
    """Return whom `BearerAuthentication` found; the stubs know Django's users only."""
    return cast("Bearer", request.user)


class BearerToken(Token):
    """An access token, ours or another issuer's: `exp` and `sub` are all it must carry."""

    token_type = "access"  # noqa: S105
    lifetime = timedelta(hours=1)

    def get_token_backend(self) -> TokenBackend:
        return token_backend()


@cache
def token_backend() -> TokenBackend:
    """Return the verifier that the JWT_* settings describe."""
    backend = TokenBackend(
        settings.JWT_ALGORITHM,
        settings.JWT_SIGNING_KEY,
        settings.JWT_VERIFYING_KEY,
        settings.JWT_AUDIENCE or None,
        settings.JWT_ISSUER or None,
        leeway=settings.JWT_LEEWAY,
    )
    if settings.JWT_JWK_URL:
        backend.jwks_client = cast("PyJWKClient", IssuerKeys(settings.JWT_JWK_URL))
    return backend


VERIFIED = VerifiedTokens[Bearer]()


def _keys() -> object | None:
    """Return what verifies tokens now, another object after a change of keys.

    None if an issuer's keys are old enough to be fetched anew, which verifying one does.
    """
    backend = token_backend()
    client = backend.jwks_client
    return cast("IssuerKeys", client).fresh() if client else backend


def fetch_issuer_keys() -> None:
    """Fetch the keys of a JWKS address, if one is set, before the first requests need them."""
    client = token_backend().jwks_client
    if client:
        cast("IssuerKeys", client).fetch()


class BearerAuthentication(BaseAuthentication):
    """Authorization: Bearer <token>, and no other way in."""

    def authenticate(self, request: Request) -> tuple[Bearer, None]:
        scheme, _, credentials = request.META.get("HTTP_AUTHORIZATION", "").partition(" ")
        credentials = credentials.strip(" ")
        if scheme.lower() != "bearer" or not credentials:
            NOT_AUTHENTICATED.refuse(headers={"WWW-Authenticate": REALM})
        try:
            return _verified(credentials), None
        except ExpiredTokenError:  # its signature is good, or nobody would believe its time
            INVALID_TOKEN.refuse(
                EXPIRED, headers={"WWW-Authenticate": f'{INVALID}, error_description="{EXPIRED}"'}
            )
        except UNREADABLE as error:
            if _caused_by_outage(error):
                UNAVAILABLE.refuse("The keys that verify tokens cannot be fetched right now.")
            INVALID_TOKEN.refuse(headers={"WWW-Authenticate": INVALID})


def _verified(credentials: Any) -> Bearer:
    keys = _keys()
    if bearer := VERIFIED.get(credentials, keys):
        return bearer
    token = BearerToken(credentials)
    bearer = _bearer(token)
    ends = int(token.payload["exp"]) + settings.JWT_LEEWAY
    VERIFIED.keep(credentials, bearer, keys, ends)
    return bearer


def _caused_by_outage(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, PyJWKClientConnectionError):
            return True
        error = error.__cause__
    return False


def _bearer(token: BearerToken) -> Bearer:
    claims = token.payload
    return Bearer(
        _text(claims, "sub"),
        _scopes(claims),
        _profile_key(claims),
        _text(claims, "partnerKey") if "partnerKey" in claims else None,
    )


def _text(claims: dict[str, Any], name: str) -> str:
    """Return the claim, which will be stored, compared and shown on a page."""
    text = claims.get(name)
    if not isinstance(text, str) or not text or control_character(text):
        raise ValueError(name)
    return text


def _scopes(claims: dict[str, Any]) -> frozenset[str]:
    granted = claims.get("scope", claims.get("scp"))
    if isinstance(granted, str):
        return frozenset(granted.split(" "))
    if isinstance(granted, list):
        return frozenset(scope for scope in granted if isinstance(scope, str))
    return frozenset()


def _profile_key(claims: dict[str, Any]) -> UUID | None:
    if "profileKey" not in claims:
        return None
    profile_key = parse_guid(claims["profileKey"])
    # A binding that cannot be read must not become no binding.
    if profile_key is None:
        raise ValueError("profileKey")
    return profile_key
