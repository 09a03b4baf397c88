"""System checks of the token settings and the rate limit."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.serialization import load_pem_public_key
from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, register

from cartsvc.api.rates import parse_rate

# Ends a hint: the section of the README to read.
CONFIGURATION = "(cartsvc/README.md, Configuration)"

ALGORITHMS = ("HS256", "RS256", "ES256")
# RFC 7518, section 3.2: the key is at least as long as the hash output.
MIN_HS256_BYTES = 32
# Section 3.3.
MIN_RS256_BITS = 2048
KEYS = {"RS256": f"of RSA, with {MIN_RS256_BITS} bits or more", "ES256": "of the curve P-256"}
# Seconds. Clocks that differ by more are wrong and must be corrected.
MAX_LEEWAY = 300

# The cache whose increment is atomic and visible to every worker.
COUNTING_CACHE = "django.core.cache.backends.redis.RedisCache"


def token_problems() -> Iterator[CheckMessage]:
    """Yield an error for each JWT setting that is missing, unsafe or contradictory."""
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
    if not 0 <= settings.JWT_LEEWAY <= MAX_LEEWAY:
        yield Error(
            f"JWT_LEEWAY is {settings.JWT_LEEWAY}.",
            hint=f"Set it to seconds between 0 and {MAX_LEEWAY}, or unset it: a token is good for "
            f"so much longer than its issuer says. {CONFIGURATION}",
            id="cartsvc.E018",
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
    elif is_one_character(settings.JWT_SIGNING_KEY):
        yield Error(
            "JWT_SIGNING_KEY is one character repeated.",
            hint=f"Set JWT_SIGNING_KEY to at least {MIN_HS256_BYTES} random bytes. {CONFIGURATION}",
            id="cartsvc.E019",
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
        if not _fits(algorithm, settings.JWT_VERIFYING_KEY):
            yield Error(
                f"JWT_VERIFYING_KEY is not a public key for {algorithm} in PEM.",
                hint=f"It begins with -----BEGIN PUBLIC KEY-----, and is {KEYS[algorithm]}. "
                f"{CONFIGURATION}",
                id="cartsvc.E015",
            )
    else:
        yield from _check_key_address()


def _fits(algorithm: str, pem: str) -> bool:
    """Return whether a text is a public key of the algorithm (RFC 7518, sections 3.3 and 3.4)."""
    try:
        key = load_pem_public_key(pem.encode())
    except (ValueError, UnsupportedAlgorithm):
        return False
    if algorithm == "RS256":
        return isinstance(key, RSAPublicKey) and key.key_size >= MIN_RS256_BITS
    return isinstance(key, EllipticCurvePublicKey) and isinstance(key.curve, SECP256R1)


def _check_key_address() -> Iterator[CheckMessage]:
    if not _is_safe_address(settings.JWT_JWK_URL):
        yield Error(
            "JWT_JWK_URL is not an https:// address.",
            hint="Set it to an https:// address without a user name: keys that come over an open "
            f"line can be exchanged on the way. {CONFIGURATION}",
            id="cartsvc.E016",
        )
    if not (settings.JWT_ISSUER or settings.JWT_AUDIENCE):
        yield Error(
            "JWT_JWK_URL is set, but neither JWT_ISSUER nor JWT_AUDIENCE.",
            hint="An issuer signs tokens for other services with the same keys: set what iss or "
            f"aud must be, or both. {CONFIGURATION}",
            id="cartsvc.E017",
        )


def _is_safe_address(url: str) -> bool:
    """Return whether keys from this address are safe from tampering: HTTPS or loopback."""
    try:
        parts = urlsplit(url)
        host, _port = parts.hostname, parts.port
    except ValueError:
        return False
    if not host or "@" in parts.netloc:
        return False
    local = host in {name.strip("[]") for name in settings.LOOPBACK}
    return parts.scheme == "https" or (parts.scheme == "http" and local)


def is_one_character(secret: str) -> bool:
    """Return whether the secret is a single character, however often repeated."""
    return len(set(secret)) == 1


@register(Tags.security)
def check_rate_limit(**_kwargs: Any) -> list[CheckMessage]:
    """Return an error for a THROTTLE_RATE that cannot be read or that the cache cannot count."""
    return list(_rate_limit_problems())


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
