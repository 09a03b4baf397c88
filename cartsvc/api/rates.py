"""Rates: so many of something in so many seconds, counted by the cache for all workers.

One atomic increment counts. The framework's own throttles read a list from the cache and
write it back: requests at the same time lose each other's entries and pass above the limit.
"""

import hashlib
import logging
import re
import time
from dataclasses import dataclass
from typing import NamedTuple

from django.core.cache import cache

logger = logging.getLogger(__name__)

RATE = re.compile(r"([1-9]\d*)/([1-9]\d*)?(s|m|h|d|sec|min|hour|day)", re.ASCII)
UNITS = {"s": 1, "m": 60, "h": 60 * 60, "d": 24 * 60 * 60}

# How much longer a count is kept than it counts: the clocks of machines may differ.
SPARE_SECONDS = 10


class Rate(NamedTuple):
    """A number and its window."""

    limit: int
    seconds: int


def parse_rate(text: str) -> Rate | None:
    """Return the rate that a text such as `100/min` or `5/10s` names, or None."""
    found = RATE.fullmatch(text)
    return found and Rate(int(found[1]), int(found[2] or 1) * UNITS[found[3][0]])


@dataclass(frozen=True, slots=True)
class Usage:
    """How many of its limit somebody has used, and for how many seconds they count."""

    limit: int
    sent: int
    seconds_left: int

    @property
    def is_over(self) -> bool:
        return self.sent > self.limit

    def headers(self) -> dict[str, str]:
        """Return the RateLimit headers of an answer."""
        return {
            "RateLimit-Limit": str(self.limit),
            "RateLimit-Remaining": str(max(0, self.limit - self.sent)),
            "RateLimit-Reset": str(self.seconds_left),
        }


def usage(who: str, rate: Rate, *, counting: bool) -> Usage | None:
    """Return how somebody stands, with one more if it is `counting`.

    None when the cache does not answer: a limit protects the service, and must not be what
    brings it down.
    """
    # Here, because most services have no limit: it would be 6 % of what the start imports.
    from redis import RedisError  # noqa: PLC0415

    name = hashlib.sha256(who.encode())
    # Everybody's windows end at a time of their own, so that not all come back at once.
    shifted = int(time.time()) + int.from_bytes(name.digest()[:4]) % rate.seconds
    window, passed = divmod(shifted, rate.seconds)
    key = f"cartsvc.rate.{rate.limit}.{rate.seconds}.{window}.{name.hexdigest()}"
    try:
        if not counting:
            sent = cache.get(key, 0)
        elif cache.add(key, 1, rate.seconds + SPARE_SECONDS):
            sent = 1
        else:
            sent = cache.incr(key)
    except (OSError, RedisError, ValueError) as error:
        logger.warning("The cache did not answer, so nobody is limited: %s", error)
        return None
    return Usage(rate.limit, sent, rate.seconds - passed)
