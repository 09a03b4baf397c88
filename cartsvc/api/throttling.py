"""The rate limit of each bearer, in the cache of all workers. Off unless THROTTLE_RATE is set.

Each request is one atomic increment. The framework's own throttles read a list from the cache
and write it back, so concurrent requests overwrite each other's entries and exceed the limit.
"""

import hashlib
import logging
import re
import time
from typing import Any, NamedTuple

from django.conf import settings
from django.core.cache import cache
from django.http import HttpRequest
from redis import RedisError

from cartsvc.environment_variables import RATE
from cartsvc.identity.bearer_tokens import Bearer
from cartsvc.request_errors import Throttled
from cartsvc.serving import metrics

logger = logging.getLogger(__name__)

SECONDS_OF = {"s": 1, "m": 60, "h": 60 * 60, "d": 24 * 60 * 60}

# A cache that has not answered is left alone for so long: each request would wait for it.
REST_SECONDS = 5
_rests_until: dict[object, float] = {}  # by address, on the clock of `monotonic`

# How long a count is kept after its window ends, because the machines' clocks may differ.
SPARE_SECONDS = 10

# Where a request keeps its usage, so that it counts once and asks the cache once.
USAGE = "cartsvc.usage"


class Usage(NamedTuple):
    limit: int
    sent: int
    seconds_left: int


def count(request: Any) -> None:
    """Count a request of a bearer, its user. Refuse it above THROTTLE_RATE."""
    usage = request.META[USAGE] = _usage(request.user, counting=True)
    if usage and usage.sent > usage.limit:
        seconds = usage.seconds_left
        raise Throttled(seconds=seconds, headers={"Retry-After": str(seconds)})


def headers(request: HttpRequest) -> dict[str, str]:
    """Return what tells a known bearer what is left. What was refused before is not counted."""
    bearer = getattr(request, "user", None)
    if not isinstance(bearer, Bearer):
        return {}
    usage = request.META[USAGE] if USAGE in request.META else _usage(bearer, counting=False)
    if usage is None:
        return {}
    return {
        "RateLimit-Limit": str(usage.limit),
        "RateLimit-Remaining": str(max(0, usage.limit - usage.sent)),
        "RateLimit-Reset": str(usage.seconds_left),
    }


def _usage(bearer: Bearer, *, counting: bool) -> Usage | None:
    """Return how much of the limit a bearer has used in this window. `counting` adds one first.

    None if the cache does not answer: a failing rate limit must not take the service down with it.
    """
    address = settings.CACHES["default"].get("LOCATION")
    if time.monotonic() < _rests_until.get(address, 0):
        return None
    limit, number, unit = re.findall(RATE, settings.THROTTLE_RATE)[0]
    seconds = int(number or 1) * SECONDS_OF[unit[0]]
    name = hashlib.sha256(bearer.subject.encode())
    # Windows end at a different time for each caller, so that they do not all retry at once.
    shifted = int(time.time()) + int.from_bytes(name.digest()[:4]) % seconds
    window, passed = divmod(shifted, seconds)
    key = f"cartsvc.rate.{limit}.{seconds}.{window}.{name.hexdigest()}"
    try:
        if not counting:
            sent = cache.get(key, 0)
        else:
            cache.add(key, 0, seconds + SPARE_SECONDS)
            try:
                sent = cache.incr(key)
            except ValueError:  # the cache has already let go of it
                sent = 1
    except (OSError, RedisError, ValueError) as error:
        logger.warning("The cache did not answer, so nobody is limited: %s", error)
        metrics.UNREACHABLE.add("cache")
        _rests_until[address] = time.monotonic() + REST_SECONDS
        return None
    return Usage(int(limit), sent, seconds - passed)
