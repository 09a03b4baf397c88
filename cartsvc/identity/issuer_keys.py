"""The keys that an issuer publishes at its JWKS address.

No request waits for the issuer. Each worker fetches the keys when it starts and before they are
old. A token with an unknown key makes it fetch them once more, and is refused meanwhile.
"""

import json
import logging
import time
from contextlib import closing, suppress
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from socket import SHUT_RDWR, socket
from threading import Event, Lock, Thread, Timer
from urllib.parse import urlsplit

from jwt import PyJWKClient, PyJWKSet, PyJWTError
from jwt.jwk_set_cache import JWKSetCache

from cartsvc.errors import Unavailable

logger = logging.getLogger(__name__)

# To connect to the issuer, and then for its whole response.
TIMEOUT_SECONDS = 2
MAX_BYTES = 256 * 1024
# Between two fetches that requests ask for.
COOLDOWN_SECONDS = 5
# Keys of this age are fetched again.
REFRESH_SECONDS = 5 * 60
# Keys of this age are not used any more, though the issuer does not answer.
MAX_AGE_SECONDS = 10 * 60

# What the libraries raise when the issuer is down, slow or sends nonsense.
UNUSABLE = (
    *(OSError, HTTPException, PyJWTError),
    *(ValueError, TypeError, AttributeError, RecursionError),
)


class IssuerKeys(PyJWKClient):
    """PyJWT's client, which fetches in the background, within a time and a size."""

    jwk_set_cache: JWKSetCache

    def __init__(self, uri: str) -> None:
        # PyJWT's own cooldown does not count fetches that failed.
        super().__init__(uri, lifespan=MAX_AGE_SECONDS, cooldown_duration=0)
        self.asking = Lock()
        self.stopped = Event()
        self.asked_at = self.fetched_at = float("-inf")

    def get_jwk_set(self, refresh: bool = False) -> PyJWKSet:
        """Return the keys, another object after each fetch.

        `refresh` says that they lack the one that a token names. It may be newer than ours.
        """
        keys = self.jwk_set_cache.get()
        age = time.monotonic() - self.fetched_at
        if keys is None or age >= (COOLDOWN_SECONDS if refresh else REFRESH_SECONDS):
            self._ask()
            if keys is None or refresh:
                raise Unavailable("The keys that verify tokens cannot be fetched right now.")
        return keys

    def keep_fresh(self) -> None:
        """Fetch the keys in the background until `stopped`. Wait for the first attempt only."""
        tried = Event()

        def fetch_again_and_again() -> None:
            wait = 0.0
            while not self.stopped.wait(wait):
                wait = REFRESH_SECONDS if self.fetch() else COOLDOWN_SECONDS
                tried.set()

        Thread(target=fetch_again_and_again, name="issuer-keys", daemon=True).start()
        tried.wait(TIMEOUT_SECONDS)

    def _ask(self) -> None:
        """Fetch the keys in the background, unless somebody has asked for them just now."""
        with self.asking:
            if time.monotonic() - self.asked_at < COOLDOWN_SECONDS:
                return
            self.asked_at = time.monotonic()
        with suppress(RuntimeError):  # the process may have no more threads
            Thread(target=self.fetch, name="issuer-keys", daemon=True).start()

    def fetch(self) -> bool:
        """Fetch the keys, and return whether the issuer has sent any. If not, the old ones stay."""
        # Here, because `serve` imports this module before it knows where metrics are counted.
        from cartsvc.serving import metrics  # noqa: PLC0415

        self.asked_at = time.monotonic()
        try:
            keys = PyJWKSet.from_dict(json.loads(_document(self.uri)))
            if not any(key.key_id and key.public_key_use in {"sig", None} for key in keys):
                raise ValueError("no signing key with an id")
        except UNUSABLE as error:
            logger.warning("The issuer's keys cannot be fetched: %r", error)
            metrics.UNREACHABLE.labels("issuer").inc()
            return False
        self.jwk_set_cache.put(keys)
        self.fetched_at = time.monotonic()
        return True


def _document(uri: str) -> bytes:
    """Return what is at the address. PyJWT would limit neither the bytes nor the time of all reads.

    The certificate is checked. Redirects are not followed and no proxy is used.
    """
    url = urlsplit(uri)
    connect = HTTPSConnection if url.scheme == "https" else HTTPConnection
    with closing(connect(url.netloc, timeout=TIMEOUT_SECONDS)) as connection:
        connection.connect()
        deadline = Timer(TIMEOUT_SECONDS, _cut, [connection.sock])
        deadline.start()
        try:
            connection.request("GET", url._replace(scheme="", netloc="").geturl() or "/")
            response = connection.getresponse()
            document = response.read(MAX_BYTES + 1)
        finally:
            deadline.cancel()
    if response.status != 200 or len(document) > MAX_BYTES:
        raise ValueError(f"status {response.status}, {len(document)} bytes")
    return document


def _cut(connection: socket) -> None:
    with suppress(OSError):  # it has just ended
        connection.shutdown(SHUT_RDWR)
