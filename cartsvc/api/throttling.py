"""The rate limit of each bearer, shared by all workers. Off unless THROTTLE_RATE is set."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.conf import settings
from rest_framework.throttling import BaseThrottle

from cartsvc.api import rates
from cartsvc.api.authentication import Bearer

if TYPE_CHECKING:  # a circular import: the framework's views import their throttle classes
    from django.http import HttpRequest
    from rest_framework.request import Request
    from rest_framework.views import APIView

    from cartsvc.api.rates import Usage

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
    rate = rates.parse_rate(settings.THROTTLE_RATE)
    if rate is None:  # the settings refuse such a rate
        return None
    return rates.usage(bearer.subject, rate, counting=counting)
