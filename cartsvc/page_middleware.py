"""What HTML pages have in addition to Django's own: middleware, and answers to errors."""

import random
import sys
from collections.abc import Callable
from zoneinfo import ZoneInfo

from django.contrib.auth import SESSION_KEY
from django.core.exceptions import BadRequest
from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse, UnreadablePostError
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.log import log_response
from django.views.defaults import server_error

from cartsvc.concurrency_limit import COMPUTING, RECEIVING, WAITING
from cartsvc.db.database_errors import is_outage
from cartsvc.proxies import client_network
from cartsvc.request_errors import Unavailable

Handler = Callable[[HttpRequest], HttpResponse]


def viewer_time_zone(get_response: Handler) -> Handler:
    """Show and read times in the time zone that the browser names in a cookie."""

    def middleware(request: HttpRequest) -> HttpResponse:
        try:
            zone = ZoneInfo(request.COOKIES.get("timezone", "UTC"))
        except (KeyError, ValueError, OSError):  # an unknown zone, or not the name of one
            zone = ZoneInfo("UTC")
        with timezone.override(zone):
            return get_response(request)

    return middleware


def page_limit(get_response: Handler) -> Handler:
    """Set the concurrency limit for the desk, and for forms wherever they are sent."""

    def middleware(request: HttpRequest) -> HttpResponse:
        if request.method != "POST" and not request.path.startswith(reverse("admin:index")):
            return get_response(request)
        try:
            # Not the session's key, because a user may have many.
            with WAITING.seat_for("pages"):
                user = request.session.get(SESSION_KEY)
            caller = f"staff {user}" if user else f"network {client_network(request)}"
            if request.method == "POST":
                with RECEIVING.seat_for(caller):
                    request.body  # noqa: B018 (read, and kept)
            # All strangers are one caller, because it costs them nothing to be many.
            each = caller if user else "strangers"
            with COMPUTING.seat_for(each), WAITING.seat_for("pages"):
                return get_response(request)
        except UnreadablePostError:
            raise BadRequest("The form did not arrive whole.") from None
        except Unavailable:
            response = _unavailable("busy", {"is_form": request.method == "POST"})
            if request.method == "GET":
                # Seconds. Tabs that were refused together do not ask together again.
                response.headers["Refresh"] = str(random.randint(2, 6))  # noqa: S311
            # Django would log an error, and call somebody in the night.
            log_response("Too many pages at once", request=request, response=response, level="info")
            return response

    return middleware


def handle_error(request: HttpRequest) -> HttpResponse:
    """Answer for a page that raised (Django's `handler500`): 503 in an outage, or else 500."""
    error = sys.exc_info()[1]
    if isinstance(error, DatabaseError) and is_outage(error):
        return _unavailable("503")
    return server_error(request)


def _unavailable(name: str, context: dict[str, object] | None = None) -> HttpResponse:
    # Without the request, which would ask the database for the user's name.
    text = render_to_string(f"{name}.html", context)
    return HttpResponse(text, status=503, headers=Unavailable.usual_headers)
