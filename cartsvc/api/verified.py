"""Tokens that were verified a moment ago, so that a busy caller's is not verified anew.

Verifying one takes 14 % of the instructions of a read. Nothing is believed that verifying
would refuse:

- What is looked up is a digest of the whole token, its signature included. Whoever finds an
  entry has sent the very token that was verified; one of another byte finds none. What was
  refused is never kept.
- An entry ends when the token does, with the same leeway, and after a minute in any case. A
  clock that is set back prolongs a token's life here as it does everywhere.
- An entry belongs to the keys that verified it. When an issuer's are fetched anew, or are
  old enough to be, the token is verified again: a withdrawn key dies as soon as without this.
- The tokens themselves are not kept, so a dump of the memory gives none away.
"""

import time
from hashlib import sha256
from threading import Lock
from typing import Generic, TypeVar

MAX_SECONDS = 60
# A token that is sent only once gains nothing by being kept. This many take two megabytes.
MOST = 2000

Found = TypeVar("Found")


class VerifiedTokens(Generic[Found]):
    """What was found in the tokens that were verified last, by their digests.

    `keys` is the object that verified a token: taken before, so that keys which change
    meanwhile are not taken for those that did. None verifies for now only.
    """

    def __init__(self) -> None:
        self.entries: dict[bytes, tuple[Found, object, float, float]] = {}
        self.writing = Lock()

    def get(self, token: str, keys: object | None) -> Found | None:
        """Return what was found in the token; None when it is to be verified."""
        entry = self.entries.get(_digest(token))
        if entry is None:
            return None
        found, verified_by, ends, kept_until = entry
        alive = time.time() < ends and time.monotonic() < kept_until
        return found if verified_by is keys and alive else None

    def keep(self, token: str, found: Found, keys: object | None, ends: float) -> None:
        """Keep what was found in a token that is good until `ends`, its leeway included."""
        if keys is None:
            return
        entry = found, keys, ends, time.monotonic() + MAX_SECONDS
        digest = _digest(token)
        with self.writing:
            self.entries.pop(digest, None)
            self.entries[digest] = entry
            if len(self.entries) > MOST:
                del self.entries[next(iter(self.entries))]


def _digest(token: str) -> bytes:
    return sha256(token.encode()).digest()
