"""Middleware for HTML pages, in addition to Django's own."""

from collections.abc import Callable
from zoneinfo import ZoneInfo

from django.http import HttpRequest, HttpResponse
from django.utils import timezone


class ViewerTimeZone:
    """Shows and reads times in the time zone that the browser names in a cookie."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        try:
            zone = ZoneInfo(request.COOKIES.get("timezone", "UTC"))
        except (KeyError, ValueError, OSError):  # an unknown zone, or not the name of one
            zone = ZoneInfo("UTC")
        with timezone.override(zone):
            return self.get_response(request)


class NoStore:
    """Keeps browsers and proxies from storing pages, because they show customers' data."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        response.headers.setdefault("Cache-Control", "no-store")
        return response
