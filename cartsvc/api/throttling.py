"""The rate limit of each bearer, in the cache of all workers. Off unless THROTTLE_RATE is set.

The framework's own throttles read a list and write it back: many requests at once would pass.
"""

import hashlib
import logging
import time
from typing import NamedTuple

from django.conf import settings
from django.core.cache import cache
from django.http import HttpRequest
from redis import RedisError

from cartsvc.identity.bearer_tokens import Bearer
from cartsvc.request_errors import Throttled
from cartsvc.serving import metrics

logger = logging.getLogger(__name__)

SECONDS_OF = {"s": 1, "m": 60, "h": 60 * 60, "d": 24 * 60 * 60}

# A cache that has not answered is left alone for so long: each request would wait for it.
REST_SECONDS = 5
_rests_until: dict[str, float] = {}  # by address, on the clock of `monotonic`

# Where a request keeps its usage, so that it counts once and asks the cache once.
USAGE = "cartsvc.usage"


class Usage(NamedTuple):
    limit: int
    sent: int
    seconds_left: int


def check_rate(request: HttpRequest, bearer: Bearer) -> None:
    usage = request.META[USAGE] = _usage(bearer, added=1)
    if usage and usage.sent > usage.limit:
        seconds = usage.seconds_left
        raise Throttled(seconds=seconds, headers={"Retry-After": str(seconds)})


def rate_limit_headers(request: HttpRequest) -> dict[str, str]:
    """Return what tells a known bearer what is left. What was refused before is not counted."""
    bearer = getattr(request, "user", None)
    if not isinstance(bearer, Bearer):
        return {}
    usage = request.META[USAGE] if USAGE in request.META else _usage(bearer, added=0)
    if usage is None:
        return {}
    return {
        "RateLimit-Limit": str(usage.limit),
        "RateLimit-Remaining": str(max(0, usage.limit - usage.sent)),
        "RateLimit-Reset": str(usage.seconds_left),
    }


def _usage(bearer: Bearer, *, added: int) -> Usage | None:
    """Return how much of the limit a bearer has used in this period, if the cache answers."""
    if time.monotonic() < _rests_until.get(settings.CACHE_URL, 0):
        return None
    limit, _, period = settings.THROTTLE_RATE.partition("/")
    seconds = SECONDS_OF[period[0]]
    window, passed = divmod(int(time.time()), seconds)
    subject = hashlib.sha256(bearer.subject.encode()).hexdigest()
    key = f"cartsvc.rate.{seconds}.{window}.{subject}"
    try:
        cache.add(key, 0, seconds)
        sent = cache.incr(key, added)
    except (OSError, RedisError, ValueError) as error:  # the last, if it has let go of the key
        logger.warning("The cache did not answer, so nobody is limited: %s", error)
        metrics.UNREACHABLE.add("cache")
        _rests_until[settings.CACHE_URL] = time.monotonic() + REST_SECONDS
        return None
    return Usage(int(limit), sent, seconds - passed)
