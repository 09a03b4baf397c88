"""The keys that an issuer publishes at its JWKS address, fetched in the background.

A token whose key is known never waits. For an unknown key, one request at a time starts a
fetch and waits for it, for at most `TIMEOUT_SECONDS`. The others are answered at once. No
request waits for a lock.
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

# Long enough for a healthy issuer, and short enough to answer the caller within four seconds.
TIMEOUT_SECONDS = 2
# The shortest time between two fetches, whether the first one failed or lacked a key.
COOLDOWN_SECONDS = 5
# Keys older than this are fetched again, but are still used meanwhile.
REFRESH_SECONDS = 5 * 60
# Keys this old are no longer used, even if the issuer does not answer.
MAX_AGE_SECONDS = 10 * 60
MAX_BYTES = 256 * 1024

# The exceptions that the libraries raise when the issuer is down, slow or sends nonsense.
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
    """The keys that an issuer has published, by key id. Replaces PyJWT's `PyJWKClient`."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.keys: Mapping[Any, PyJWK] = {}
        self.fetched_at = self.asked_at = float("-inf")
        self.asking = Lock()

    def get_signing_key_from_jwt(self, token: str) -> PyJWK:
        """Return the key whose id the token's header names. simplejwt calls this.

        Raises:
            PyJWKClientError: the issuer does not publish that key.
            PyJWKClientConnectionError: the keys are not known at the moment.
            InvalidTokenError: the token's header cannot be read.
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
        """Return the keys, a new object after each fetch; None once they are due for another."""
        return self.keys if self._age() <= REFRESH_SECONDS else None

    def fetch(self) -> None:
        """Fetch the keys in this thread. No thread is started, so the process may fork later."""
        if self.asking.acquire(blocking=False):
            self._fetch()

    def _age(self) -> float:
        return time.monotonic() - self.fetched_at

    def _known(self, kid: Any) -> PyJWK | None:
        return self.keys.get(kid) if self._age() < MAX_AGE_SECONDS else None

    def _ask(self) -> Thread | None:
        """Start a thread that fetches the keys and return it.

        Return None if another fetch is running or the last one began too recently.
        """
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
            # In this order: another thread must never see old keys with the new age.
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
    """Return the document at the address. The timeout covers the whole exchange, not each read.

    The certificate is checked. Redirects are not followed and no proxy is used.

    Raises:
        OSError, HTTPException, ValueError: the document is late or too large, or the status
            is not 200.
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
    # HTTPResponse reads from a socket; `Received` gives it the bytes that are already here.
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
    """Stands in for a socket whose whole content has been received."""

    def __init__(self, content: bytes) -> None:
        self.content = content

    def makefile(self, _mode: str) -> BytesIO:
        """Return the content as a file, as http.client asks a socket for it."""
        return BytesIO(self.content)
