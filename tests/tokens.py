"""Tokens of every algorithm, and parts of tokens that no library would make."""

import base64
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)
from django.conf import settings
from django.test import override_settings

from cartsvc.api.authentication import token_backend


@contextmanager
def verified_with(**values: Any) -> Iterator[None]:
    """Verify tokens with these JWT settings (ALGORITHM, VERIFYING_KEY, ISSUER, ...)."""
    with override_settings(**{f"JWT_{name}": value for name, value in values.items()}):
        token_backend.cache_clear()
        try:
            yield
        finally:
            token_backend.cache_clear()


@cache
def private_key(algorithm: str, number: int = 0) -> Any:
    """Return the key of this number for an algorithm; 0 is the service's."""
    if algorithm.startswith("HS"):
        return settings.JWT_SIGNING_KEY if number == 0 else f"{number}" * 64
    if algorithm.startswith("ES"):
        return ec.generate_private_key(ec.SECP256R1())
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def pem(algorithm: str, number: int = 0) -> str:
    """Return the public key."""
    public = private_key(algorithm, number).public_key()
    text: bytes = public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    return text.decode()


def private_pem(algorithm: str) -> str:
    text: bytes = private_key(algorithm).private_bytes(
        Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()
    )
    return text.decode()


def claims(**changes: Any) -> dict[str, Any]:
    """Return the claims of a token that may write; `...` leaves one out."""
    whole = {"sub": "partner-app", "scope": "Cart.Write", "exp": int(time.time()) + 600}
    return {name: value for name, value in (whole | changes).items() if value is not ...}


def sign(payload: dict[str, Any], algorithm: str = "HS256", key: int = 0, **headers: Any) -> str:
    return jwt.encode(payload, private_key(algorithm, key), algorithm, headers=headers)


def sign_raw(header: bytes, payload: bytes, algorithm: str = "HS256") -> str:
    """Return a token of any two texts, its signature right."""
    signing_input = f"{encode(header)}.{encode(payload)}"
    implementation = jwt.get_algorithm_by_name(algorithm)
    key = implementation.prepare_key(private_key(algorithm))
    return f"{signing_input}.{encode(implementation.sign(signing_input.encode(), key))}"


def encode(text: bytes) -> str:
    return base64.urlsafe_b64encode(text).rstrip(b"=").decode()


def header_of(algorithm: str, **changes: Any) -> bytes:
    return json.dumps({"alg": algorithm, "typ": "JWT"} | changes).encode()
