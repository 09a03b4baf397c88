"""The keys that an issuer publishes at its JWKS address."""

import json
import logging
import mmap
import time
from contextlib import closing, suppress
from hashlib import sha256
from http.client import HTTPConnection, HTTPSConnection
from math import inf
from socket import SHUT_RDWR
from struct import Struct
from threading import Thread, Timer
from urllib.parse import urlsplit

from jwt import PyJWK, PyJWKClient, PyJWKSet

from cartsvc.request_errors import Unavailable
from cartsvc.serving import metrics

logger = logging.getLogger(__name__)

# To connect, and then for the whole response. A request without keys waits as long once.
TIMEOUT_SECONDS = 2
MAX_BYTES = 256 * 1024
COOLDOWN_SECONDS = 5  # after an attempt
REFRESH_SECONDS = 5 * 60
MAX_AGE_SECONDS = 10 * 60  # while the issuer does not answer

# Before the shared document: its digest, when it was fetched, and its length.
HEAD = Struct("32sdI")


class IssuerKeys(PyJWKClient):
    """PyJWT's client. A request makes it fetch in the background, and waits if it has no keys.

    It is made before the workers are forked: what one has fetched is the others', and that of those
    that replace them.
    """

    keys: PyJWKSet
    fetched_at = tried_at = -inf
    thread = Thread()

    def __init__(self, uri: str) -> None:
        super().__init__(uri, cooldown_duration=0)  # PyJWT's does not count fetches that failed
        self.shared = mmap.mmap(-1, HEAD.size + MAX_BYTES)
        metrics.KEYS_AGE.labels("issuer").set_function(self.age)

    def age(self) -> float:
        """Return the seconds since any worker has fetched keys; infinity if none has."""
        _, fetched_at, _ = HEAD.unpack_from(self.shared)
        return time.monotonic() - (fetched_at or -inf)

    def get_jwk_set(self, refresh: bool = False) -> PyJWKSet:
        """Return the keys, another object after each fetch. `refresh` says that they lack one."""
        moment = time.monotonic()
        fresh_seconds = COOLDOWN_SECONDS if refresh else REFRESH_SECONDS
        if moment - self.fetched_at >= fresh_seconds:
            self._take_shared()
        age = moment - self.fetched_at
        is_old = age >= fresh_seconds
        with suppress(RuntimeError):  # the process may have no more threads
            if is_old and moment - self.tried_at >= COOLDOWN_SECONDS:
                self.tried_at, self.thread = moment, Thread(target=self.fetch, daemon=True)
                self.thread.start()
            if age > MAX_AGE_SECONDS:
                self.thread.join(max(0, self.tried_at + TIMEOUT_SECONDS - moment))
        if moment - self.fetched_at > MAX_AGE_SECONDS or (refresh and is_old):
            raise Unavailable("The keys that verify tokens cannot be fetched right now.")
        return self.keys

    def get_signing_keys(self, refresh: bool = False) -> list[PyJWK]:
        """Return all keys. PyJWT would leave out one without an id."""
        return self.get_jwk_set(refresh).keys

    def fetch(self) -> bool:
        """Return whether the issuer has sent any keys. If not, the old ones stay."""
        try:
            document = self.fetch_data()
            self.keys = _usable_keys(document)
        except Exception as error:  # noqa: BLE001 (whatever it sends, it is asked again)
            logger.warning("The issuer's keys cannot be fetched: %r", error)
            metrics.UNREACHABLE.add("issuer")
            return False
        self.fetched_at = time.monotonic()
        head = HEAD.pack(sha256(document).digest(), self.fetched_at, len(document))
        self.shared[: len(head + document)] = head + document
        return True

    def _take_shared(self) -> None:
        """Take newer keys of another worker. What it is just writing does not fit the digest."""
        digest, fetched_at, length = HEAD.unpack_from(self.shared)
        document = self.shared[HEAD.size : HEAD.size + length]
        if fetched_at > self.fetched_at and sha256(document).digest() == digest:
            self.keys, self.fetched_at = _usable_keys(document), fetched_at

    def fetch_data(self) -> bytes:
        """Return the issuer's document. PyJWT would limit neither the bytes nor the time."""
        url = urlsplit(self.uri)
        connect = HTTPSConnection if url.scheme == "https" else HTTPConnection
        with closing(connect(url.netloc, timeout=TIMEOUT_SECONDS)) as connection:
            connection.connect()
            timer = Timer(TIMEOUT_SECONDS, connection.sock.shutdown, [SHUT_RDWR])
            timer.start()
            try:
                connection.request("GET", url._replace(scheme="", netloc="").geturl() or "/")
                response = connection.getresponse()
                document = response.read(MAX_BYTES + 1)
            finally:
                timer.cancel()
        if response.status != 200 or len(document) > MAX_BYTES:
            raise ValueError(f"status {response.status}, {len(document)} bytes")
        return document


def _usable_keys(document: bytes) -> PyJWKSet:
    keys = PyJWKSet.from_dict(json.loads(document))
    fit = [key for key in keys if not key.Algorithm.check_key_length(key.key)]
    signing = [key for key in fit if key.public_key_use in {"sig", None}]
    # Among several, nobody knows which one a token without an id means.
    keys.keys = [key for key in signing if key.key_id or len(signing) == 1]
    if not keys.keys:
        raise ValueError("no key that can verify")
    return keys
