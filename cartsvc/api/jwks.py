"""The keys of another issuer, published at its JWKS address and fetched in the background.

Requests wait for no lock and for no slow issuer. One of them at a time asks, and waits
`TIMEOUT_SECONDS` at most; a token whose key is known does not wait at all.
"""

import logging
import time
from collections.abc import Mapping
from contextlib import closing, suppress
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from io import BytesIO
from socket import socket
from threading import Lock, Thread
from typing import Any, cast
from urllib.parse import urlsplit

from jwt import (
    PyJWK,
    PyJWKClientConnectionError,
    PyJWKClientError,
    PyJWKSet,
    PyJWTError,
    get_unverified_header,
)

logger = logging.getLogger(__name__)

# Long enough for a healthy issuer, short enough to answer within four seconds.
TIMEOUT_SECONDS = 2
# How soon the issuer is asked again, for a key id that is unknown or after it failed.
COOLDOWN_SECONDS = 5
# From this age on, keys are fetched anew while they still serve.
REFRESH_SECONDS = 5 * 60
# At this age they stop serving, though the issuer does not answer.
MAX_AGE_SECONDS = 10 * 60
MAX_BYTES = 256 * 1024

# What an issuer that is down, slow or answers nonsense makes the libraries raise.
UNUSABLE = (
    OSError,
    HTTPException,
    PyJWTError,
    ValueError,
    TypeError,
    AttributeError,
    RecursionError,
)


class IssuerKeys:
    """What an issuer has published, by key id; it stands in the place of PyJWT's client."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.keys: Mapping[Any, PyJWK] = {}
        self.fetched_at = self.asked_at = float("-inf")
        self.asking = Lock()

    def get_signing_key_from_jwt(self, token: str) -> PyJWK:
        """Return the key that a token names, as simplejwt asks for it.

        Raises:
            PyJWKClientError: the issuer does not publish it.
            PyJWKClientConnectionError: nobody can say right now.
            InvalidTokenError: the token has no header that can be read.
        """
        kid = get_unverified_header(token).get("kid")
        key = self._known(kid)
        if self._age() > (REFRESH_SECONDS if key else COOLDOWN_SECONDS):
            fetching = self._ask()
            if fetching and not key:
                fetching.join(TIMEOUT_SECONDS)
        key = key or self._known(kid)
        if key:
            return key
        if self._age() > COOLDOWN_SECONDS:
            raise PyJWKClientConnectionError("The issuer's keys are not here yet.")
        raise PyJWKClientError("The issuer publishes no such key.")

    def fresh(self) -> object | None:
        """Return the keys as fetched, another object each time; None if they are to be anew."""
        return self.keys if self._age() <= REFRESH_SECONDS else None

    def fetch(self) -> None:
        """Fetch the keys in this thread, which may be forked afterwards."""
        if self.asking.acquire(blocking=False):
            self._fetch()

    def _age(self) -> float:
        return time.monotonic() - self.fetched_at

    def _known(self, kid: Any) -> PyJWK | None:
        return self.keys.get(kid) if self._age() < MAX_AGE_SECONDS else None

    def _ask(self) -> Thread | None:
        """Return the thread that fetches the keys, or None if it is too soon or one does."""
        if not self.asking.acquire(blocking=False):
            return None
        thread = Thread(target=self._fetch, name="jwks", daemon=True)
        with suppress(RuntimeError):  # the process may have no more threads
            if time.monotonic() - self.asked_at >= COOLDOWN_SECONDS:
                thread.start()
                return thread
        self.asking.release()
        return None

    def _fetch(self) -> None:
        self.asked_at = time.monotonic()
        try:
            # Their age last: nobody may take old keys for new ones.
            self.keys = _signing_keys(_get(self.url))
            self.fetched_at = time.monotonic()
        except UNUSABLE as error:
            logger.warning("The issuer's keys cannot be fetched: %r", error)
        finally:
            self.asking.release()


def _signing_keys(document: str) -> Mapping[Any, PyJWK]:
    keys = {
        key.key_id: key
        for key in PyJWKSet.from_json(document)
        if isinstance(key.key_id, str) and key.public_key_use in ("sig", None)
    }
    if not keys:
        raise ValueError("no signing keys")
    return keys


def _get(url: str) -> str:
    """Return what is at the address: within the timeout as a whole, not only each read.

    No redirect is followed and no proxy asked. The certificate is checked.

    Raises:
        OSError, HTTPException, ValueError: it is not here in time, too large, or no 200.
    """
    deadline = time.monotonic() + TIMEOUT_SECONDS
    parts = urlsplit(url)
    connect = HTTPSConnection if parts.scheme == "https" else HTTPConnection
    path = f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"
    with closing(connect(parts.netloc, timeout=TIMEOUT_SECONDS)) as connection:
        connection.request(
            "GET", path, headers={"Accept": "application/json", "Connection": "close"}
        )
        received = _receive(connection.sock, deadline)
    # It reads from a socket's file, and all that will ever be in this one is here.
    response = HTTPResponse(cast("socket", Received(received)))
    response.begin()
    if response.status != 200:
        raise ValueError(f"status {response.status}")
    return response.read().decode()


def _receive(connection: socket, deadline: float) -> bytes:
    received = bytearray()
    while (left := deadline - time.monotonic()) > 0 and len(received) <= MAX_BYTES:
        connection.settimeout(left)
        chunk = connection.recv(64 * 1024)
        if not chunk:
            return bytes(received)
        received += chunk
    raise ValueError(f"{len(received)} bytes, and not at an end in time")


class Received:
    """A socket's content that has been received, for http.client to read."""

    def __init__(self, content: bytes) -> None:
        self.content = content

    def makefile(self, _mode: str) -> BytesIO:
        return BytesIO(self.content)
