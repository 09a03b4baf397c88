"""The keys that an issuer publishes at its JWKS address.

No request waits for the issuer. Each worker fetches the keys when it starts and before they are
old. A token with an unknown key makes it fetch them sooner, and is refused meanwhile.
"""

import json
import logging
import time
from contextlib import closing, suppress
from http.client import HTTPConnection, HTTPSConnection
from socket import SHUT_RDWR, socket
from threading import Event, Lock, Thread, Timer
from urllib.parse import urlsplit

from jwt import PyJWKClient, PyJWKSet
from jwt.jwk_set_cache import JWKSetCache

from cartsvc.request_errors import Unavailable
from cartsvc.serving import metrics

logger = logging.getLogger(__name__)

# To connect to the issuer, and then for its whole response.
TIMEOUT_SECONDS = 2
MAX_BYTES = 256 * 1024
# Between two fetches, if the first has failed or a request asks for the second.
COOLDOWN_SECONDS = 5
# Between two fetches that nobody asks for.
REFRESH_SECONDS = 5 * 60
# Keys of this age are not used any more, though the issuer does not answer.
MAX_AGE_SECONDS = 10 * 60


class IssuerKeys(PyJWKClient):
    """PyJWT's client, which fetches in one thread of its own, within a time and a size."""

    jwk_set_cache: JWKSetCache

    def __init__(self, uri: str) -> None:
        # PyJWT's own cooldown does not count fetches that failed.
        super().__init__(uri, lifespan=MAX_AGE_SECONDS, cooldown_duration=0)
        self.fetched_at = float("-inf")
        self.tried, self.wanted, self.stopped = Event(), Event(), Event()
        self.thread = Thread(target=self._fetch_again_and_again, name="issuer-keys", daemon=True)
        self.starting = Lock()

    def get_jwk_set(self, refresh: bool = False) -> PyJWKSet:
        """Return the keys, another object after each fetch.

        `refresh` says that they lack the one that a token names. It may be newer than ours.
        """
        keys = self.jwk_set_cache.get()
        is_old = time.monotonic() - self.fetched_at >= COOLDOWN_SECONDS
        if keys is None or (refresh and is_old):
            self.keep_fresh()
            self.wanted.set()
            raise Unavailable("The keys that verify tokens cannot be fetched right now.")
        return keys

    def keep_fresh(self) -> None:
        """Fetch the keys in the background from now on, until `stopped`."""
        with self.starting, suppress(RuntimeError):  # the process may have no more threads
            if not self.thread.ident:
                self.thread.start()

    def _fetch_again_and_again(self) -> None:
        while not self.stopped.is_set():
            self.wanted.clear()
            fetched = self.fetch()
            self.tried.set()
            self.stopped.wait(COOLDOWN_SECONDS)
            if fetched:
                self.wanted.wait(REFRESH_SECONDS)

    def fetch(self) -> bool:
        """Fetch the keys, and return whether the issuer has sent any. If not, the old ones stay."""
        try:
            keys = _published(self.uri)
        except Exception as error:  # noqa: BLE001 (whatever it sends, it is asked again)
            logger.warning("The issuer's keys cannot be fetched: %r", error)
            metrics.UNREACHABLE.inc("issuer")
            return False
        self.jwk_set_cache.put(keys)
        self.fetched_at = time.monotonic()
        return True


def _published(uri: str) -> PyJWKSet:
    """Return the keys at the address. PyJWT would limit neither bytes nor the time of all reads.

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
    keys = PyJWKSet.from_dict(json.loads(document))
    if not any(key.key_id and key.public_key_use in {"sig", None} for key in keys):
        raise ValueError("no signing key with an id")
    return keys


def _cut(connection: socket) -> None:
    with suppress(OSError):  # it has just ended
        connection.shutdown(SHUT_RDWR)
