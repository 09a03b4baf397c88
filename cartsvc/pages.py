"""What the pages of any app share, beside Django's own middleware."""

from collections.abc import Callable
from zoneinfo import ZoneInfo

from django.http import HttpRequest, HttpResponse
from django.utils import timezone


class ViewerTimeZone:
    """Show and read the times of a page in the time zone that the viewer's browser names."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        try:
            zone = ZoneInfo(request.COOKIES.get("timezone", "UTC"))
        except (KeyError, ValueError, OSError):  # no such zone, or no name of one at all
            zone = ZoneInfo("UTC")
        with timezone.override(zone):
            return self.get_response(request)


class NoStore:
    """Let neither browser nor proxy keep a page, a refusal included: it shows what staff see."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        response.headers.setdefault("Cache-Control", "no-store")
        return response
