"""The rate limit of each bearer, in the cache of all workers. Off unless THROTTLE_RATE is set.

Each request is one atomic increment. The framework's own throttles read a list from the cache
and write it back, so concurrent requests overwrite each other's entries and exceed the limit.
"""

from __future__ import annotations

import hashlib
import logging
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from django.conf import settings
from django.core.cache import cache
from rest_framework.throttling import BaseThrottle

from cartsvc.environment import RATE
from cartsvc.identity.bearer_tokens import Bearer

if TYPE_CHECKING:  # a circular import: the framework's views import their throttle classes
    from django.http import HttpRequest
    from rest_framework.request import Request
    from rest_framework.views import APIView

logger = logging.getLogger(__name__)

UNITS = {"s": 1, "m": 60, "h": 60 * 60, "d": 24 * 60 * 60}

# A cache that has not answered is left alone for so long: each request would wait for it.
REST_SECONDS = 5
_rests_until: dict[object, float] = {}  # by address, on the clock of `monotonic`

# How long a count is kept after its window ends, because the machines' clocks may differ.
SPARE_SECONDS = 10


class Rate(NamedTuple):
    """At most `limit` events in a window of `seconds`."""

    limit: int
    seconds: int


def parse_rate(text: str) -> Rate | None:
    """Return the rate that a text such as `100/min` or `5/10s` names, or None if it names none."""
    found = RATE.fullmatch(text)
    return found and Rate(int(found[1]), int(found[2] or 1) * UNITS[found[3][0]])


@dataclass(frozen=True, slots=True)
class Usage:
    """How much of a limit is used, and in how many seconds the window ends."""

    limit: int
    sent: int
    seconds_left: int

    @property
    def is_over(self) -> bool:
        """Whether more was sent than the limit allows."""
        return self.sent > self.limit

    def headers(self) -> dict[str, str]:
        """Return the RateLimit headers of an answer."""
        return {
            "RateLimit-Limit": str(self.limit),
            "RateLimit-Remaining": str(max(0, self.limit - self.sent)),
            "RateLimit-Reset": str(self.seconds_left),
        }


def usage(who: str, rate: Rate, *, counting: bool) -> Usage | None:
    """Return how much of the rate `who` has used in this window. `counting` adds one first.

    Return None when the cache does not answer: a failing rate limit must not take the
    service down with it.
    """
    # Here, because most services have no limit: it would be 6 % of what the start imports.
    from redis import RedisError  # noqa: PLC0415

    name = hashlib.sha256(who.encode())
    # Windows end at a different time for each caller, so that they do not all retry at once.
    shifted = int(time.time()) + int.from_bytes(name.digest()[:4]) % rate.seconds
    window, passed = divmod(shifted, rate.seconds)
    key = f"cartsvc.rate.{rate.limit}.{rate.seconds}.{window}.{name.hexdigest()}"
    address = settings.CACHES["default"].get("LOCATION")
    if address in _rests_until:
        if time.monotonic() < _rests_until[address]:
            return None
        # This request asks. The others go on without until it has an answer.
        _rests_until[address] = time.monotonic() + REST_SECONDS
    try:
        if not counting:
            sent = cache.get(key, 0)
        elif cache.add(key, 1, rate.seconds + SPARE_SECONDS):
            sent = 1
        else:
            sent = cache.incr(key)
    except (OSError, RedisError, ValueError) as error:
        logger.warning("The cache did not answer, so nobody is limited: %s", error)
        _rests_until[address] = time.monotonic() + REST_SECONDS
        return None
    _rests_until.pop(address, None)
    return Usage(rate.limit, sent, rate.seconds - passed)


# Where a request keeps its usage, so that it counts once and asks the cache once.
USAGE = "cartsvc.usage"


class BearerThrottle(BaseThrottle):
    """Limits each bearer to THROTTLE_RATE."""

    usage: Usage | None

    def allow_request(self, request: Request, view: APIView) -> bool:
        if not isinstance(request.user, Bearer):  # the API document, which is open to everyone
            self.usage = None
            return True
        self.usage = request.META[USAGE] = _usage(request.user, counting=True)
        return self.usage is None or not self.usage.is_over

    def wait(self) -> float | None:
        return None if self.usage is None else self.usage.seconds_left


def usage_of(request: HttpRequest) -> Usage | None:
    """Return the bearer's usage for the headers of an answer, or None if it is not known.

    A request that was refused before the limit was checked is not counted.
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
    rate = parse_rate(settings.THROTTLE_RATE)
    if rate is None:  # the settings refuse such a rate
        return None
    return usage(bearer.subject, rate, counting=counting)
