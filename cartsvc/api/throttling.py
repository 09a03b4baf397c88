"""Rate limits for each bearer, right across workers. Off until THROTTLE_RATE is set."""

from __future__ import annotations

import hashlib
import logging
import re
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from django.conf import settings
from django.core.cache import cache
from django.http import HttpRequest
from redis import RedisError
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from cartsvc.api.authentication import Bearer, bearer_of

if TYPE_CHECKING:  # the framework's views import their throttle classes
    from rest_framework.views import APIView

logger = logging.getLogger(__name__)

RATE = re.compile(r"([1-9]\d*)/([1-9]\d*)?(s|m|h|d|sec|min|hour|day)", re.ASCII)
UNITS = {"s": 1, "m": 60, "h": 60 * 60, "d": 24 * 60 * 60}

# How much longer a count is kept than it counts: the clocks of machines may differ.
SPARE_SECONDS = 10

# Where a request keeps what was found, so that it counts and asks the cache once.
USAGE = "cartsvc.usage"


class Rate(NamedTuple):
    limit: int
    seconds: int


def parse_rate(text: str) -> Rate | None:
    """Return the rate that a text such as `100/min` or `5/10s` names, or None."""
    found = RATE.fullmatch(text)
    return found and Rate(int(found[1]), int(found[2] or 1) * UNITS[found[3][0]])


@dataclass(frozen=True, slots=True)
class Usage:
    """How many requests of its limit a bearer has sent, and for how many seconds they count."""

    limit: int
    sent: int
    seconds_left: int

    def headers(self) -> dict[str, str]:
        return {
            "RateLimit-Limit": str(self.limit),
            "RateLimit-Remaining": str(max(0, self.limit - self.sent)),
            "RateLimit-Reset": str(self.seconds_left),
        }


class BearerThrottle(BaseThrottle):
    """So many requests a bearer and window, counted by the cache's atomic increment.

    The framework's own throttles read a list from the cache and write it back: requests
    at the same time lose each other's entries and pass above the limit.
    """

    usage: Usage | None

    def allow_request(self, request: Request, view: APIView) -> bool:
        self.usage = request.META[USAGE] = _usage(bearer_of(request), counting=True)
        return self.usage is None or self.usage.sent <= self.usage.limit

    def wait(self) -> float | None:
        return None if self.usage is None else self.usage.seconds_left


def usage_of(request: HttpRequest) -> Usage | None:
    """Return how the bearer of a request that was answered stands; None if nobody knows.

    What was refused before it was counted is not counted here either.
    """
    if not settings.THROTTLE_RATE:
        return None
    bearer = getattr(request, "user", None)
    if not isinstance(bearer, Bearer):
        return None
    if USAGE not in request.META:
        request.META[USAGE] = _usage(bearer, counting=False)
    return request.META[USAGE]


def _usage(bearer: Bearer, *, counting: bool) -> Usage | None:
    """Return how a bearer stands, with this request if it is `counting`."""
    rate = parse_rate(settings.THROTTLE_RATE)
    if rate is None:  # cartsvc.checks refuses it
        return None
    name = hashlib.sha256(bearer.subject.encode())
    # Each bearer's windows end at a time of their own, so that not all come back at once.
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
        # The limit protects the service; it must not be what brings it down.
        logger.warning("The cache did not answer, so nobody is limited: %s", error)
        return None
    return Usage(rate.limit, sent, rate.seconds - passed)
