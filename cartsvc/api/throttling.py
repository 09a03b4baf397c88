"""Rate limits for each bearer, right across workers. Off until THROTTLE_RATE is set."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from django.conf import settings
from django_ratelimit.core import get_usage
from redis import RedisError
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

if TYPE_CHECKING:  # the framework's views import their throttle classes
    from rest_framework.views import APIView

logger = logging.getLogger(__name__)


class BearerThrottle(BaseThrottle):
    """So many requests a bearer and window, counted by the cache's atomic increment.

    The framework's own throttles read a list from the cache and write it back: requests
    at the same time lose each other's entries and pass above the limit.
    """

    seconds_left = 0

    def allow_request(self, request: Request, view: APIView) -> bool:
        try:
            usage = get_usage(
                request,
                group="cartsvc",
                key=lambda _group, request: request.user.subject,
                rate=settings.THROTTLE_RATE,
                increment=True,
            )
        except (OSError, RedisError) as error:
            # The limit protects the service; it must not be what brings it down.
            logger.warning("The cache did not answer, so nobody is limited: %s", error)
            return True
        if usage is None:
            return True
        self.seconds_left = usage["time_left"]
        return not usage["should_limit"]

    def wait(self) -> float:
        return self.seconds_left
