"""Bearer tokens for all tests: valid ones, and some that no library would make.

With a key given, minting needs no Django settings.
"""

import base64
import json
import time
from functools import cache
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from django.conf import settings

from tests.support.not_sent import sent


def claims(**changes: Any) -> dict[str, Any]:
    """Return the claims of a back end that may write. A claim that is NOT_SENT is omitted."""
    scope = "Cart.Write Cart.Close Cart.AnyProfile"
    return sent({"sub": "partner-app", "scope": scope, "exp": int(time.time()) + 3600} | changes)


def mint(
    algorithm: str = "HS256",
    *,
    key: Any = None,
    headers: dict[str, Any] | None = None,
    **changes: Any,
) -> str:
    """Return a token that may write, with `changes` to its claims.

    Without a key, it is signed with the service's own key for that algorithm.
    """
    header = header_of(algorithm, **(headers or {}))
    return mint_raw(header, written(**changes), algorithm, key)


def mint_raw(
    header: bytes, payload: bytes | None = None, algorithm: str = "HS256", key: Any = None
) -> str:
    """Return a correctly signed token of any header and payload, even malformed ones."""
    signing_input = f"{encode(header)}.{encode(written() if payload is None else payload)}"
    implementation = jwt.get_algorithm_by_name(algorithm)
    key = private_key(algorithm) if key is None else key
    # Use bytes as a secret directly, because PyJWT refuses a public key as a secret.
    prepared = key if isinstance(key, bytes) else implementation.prepare_key(key)
    return f"{signing_input}.{encode(implementation.sign(signing_input.encode(), prepared))}"


def written(**changes: Any) -> bytes:
    """Return the claims of a token as JSON."""
    return json.dumps(claims(**changes)).encode()


def header_of(algorithm: str, **changes: Any) -> bytes:
    return json.dumps(sent({"alg": algorithm, "typ": "JWT"} | changes)).encode()


def encode(text: bytes) -> str:
    return base64.urlsafe_b64encode(text).rstrip(b"=").decode()


def private_key(algorithm: str, number: int = 0) -> Any:
    """Return the key with this number for an algorithm. Number 0 is the service's own."""
    if algorithm.startswith("HS"):
        return settings.JWT_SIGNING_KEY if number == 0 else f"{number}" * 64
    return generated(algorithm, number)


@cache
def generated(algorithm: str, number: int) -> Any:
    if algorithm.startswith("ES"):
        return ec.generate_private_key(ec.SECP256R1())
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def public_pem(algorithm: str, number: int = 0) -> str:
    return pem_of(private_key(algorithm, number))


def pem_of(key: Any) -> str:
    """Return the public half of a private key."""
    text: bytes = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    return text.decode()


def public_jwk(algorithm: str, number: int = 0, **members: Any) -> dict[str, Any]:
    """Return the public key as an issuer publishes it, with extra `members` such as `kid`."""
    key = private_key(algorithm, number).public_key()
    found: dict[str, Any] = jwt.get_algorithm_by_name(algorithm).to_jwk(key, as_dict=True)
    return {**found, "use": "sig", "alg": algorithm, **members}
