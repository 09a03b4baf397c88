"""What every request passes through before its view."""

import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from http import HTTPStatus
from operator import length_hint
from secrets import token_hex
from time import perf_counter
from typing import Any, cast

from corsheaders.middleware import CorsMiddleware
from django.conf import settings
from django.http import (
    HttpRequest,
    HttpResponse,
    HttpResponseNotModified,
    HttpResponsePermanentRedirect,
)
from django.middleware.security import SecurityMiddleware
from django.urls import resolve
from environs import ValidationError

from cartsvc.api import health
from cartsvc.api.exception_handler import handle
from cartsvc.api.json_body import IS_RECEIVED, has_body, media_type
from cartsvc.db.time_limits import deadline
from cartsvc.environment_variables import browser_origin
from cartsvc.request_errors import (
    ADDRESS_MAX_LENGTH,
    HEADER_MAX_LENGTH,
    HEADERS_MAX_LENGTH,
    ApiError,
    HeadersTooLarge,
    UriTooLong,
)
from cartsvc.serving import drain, logs, metrics

# Where people look; every other path is the API's.
PAGES = re.compile(r"/docs|/(admin|static)/.*|/admin", re.DOTALL)
# These lead to the page that tries the API.
DOCS_REDIRECTS = {"/", "/docs/"}
REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{8,64}")
# W3C Trace Context, section 3.2
TRACEPARENT = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}")

UNLISTED_ORIGIN = "A browser asked whether a page of %s may call: CORS_ALLOWED_ORIGINS lacks it."


class SanitizedHeaders:
    """Removes what Django would read before any middleware runs, and fail without an envelope."""

    def __init__(self, application: Callable[..., Iterable[bytes]]) -> None:
        self.application = application

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        if not environ["REQUEST_METHOD"].isupper():
            environ["REQUEST_METHOD"] = "-"  # Django would take `get` for GET
        environ["CONTENT_TYPE"] = media_type(environ.get("CONTENT_TYPE", ""))
        if "\\" in environ.get("HTTP_COOKIE", ""):
            # Ours have no escapes. Before 3.11.10, Python takes quadratic time to undo them.
            del environ["HTTP_COOKIE"]
        return self.application(environ, start_response)


class ApiMiddleware:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.pages = get_response
        self.secured: Any = SecurityMiddleware(_view)
        # Headers for pages, and one that every answer has. These attributes are not documented. If
        # one moves, `tests/api/test_envelope.py` fails.
        for name in ("referrer_policy", "cross_origin_opener_policy", "content_type_nosniff"):
            setattr(self.secured, name, None)
        self.api: Any = self._answer
        if settings.CORS_ALLOWED_ORIGINS:
            self.api = CorsMiddleware(self._answer)

    def __call__(self, request: HttpRequest) -> HttpResponse:
        path = request.path_info
        logs.request_ids.set({})
        deadline.set(None)
        if check := health.PROBES.get(path):
            # A load balancer asks by address and without HTTPS.
            return check(request)
        sent = request.META.get("HTTP_X_REQUEST_ID", "")
        request_id = sent if REQUEST_ID.fullmatch(sent) else token_hex(16)
        request.META["cartsvc.request_id"] = request_id
        is_redirect = path in DOCS_REDIRECTS and request.method in {"GET", "HEAD"}
        is_page = is_redirect or PAGES.fullmatch(path)
        if is_page and not head_error(request.META):
            page = self.pages(request)
            page.headers.setdefault("Cache-Control", "no-store")  # it may show customers' data
            return page
        trace = TRACEPARENT.fullmatch(request.META.get("HTTP_TRACEPARENT", ""))
        ids = {"trace_id": trace[1]} if trace else {}
        logs.request_ids.set({"request_id": request_id, **ids})
        started = perf_counter()
        response: HttpResponse = self.api(request)
        _add_headers(request, response)
        if IS_RECEIVED not in request.META and has_body(request):
            request.META[drain.CLOSES_CONNECTION] = True
        _record(request, response, perf_counter() - started)
        return response

    def _answer(self, request: HttpRequest) -> HttpResponse:
        if error := head_error(request.META):
            return handle(error)
        try:
            request.get_host()  # refuses a Host that is not ours
            response: HttpResponse = self.secured(request)
        except Exception as error:  # noqa: BLE001 (nothing may reach a caller as HTML)
            return handle(error)
        if isinstance(response, HttpResponsePermanentRedirect):  # to HTTPS
            del response["Content-Type"]
            if request.method not in {"GET", "HEAD"}:
                # After a 301, many clients would repeat a POST as a GET.
                response.status_code = HTTPStatus.PERMANENT_REDIRECT
        return response


def _view(request: HttpRequest) -> HttpResponse:
    match = request.resolver_match = resolve(request.path_info, settings.API_URLCONF)
    return cast("HttpResponse", match.func(request, *match.args, **match.kwargs))


def _add_headers(request: HttpRequest, response: HttpResponse) -> None:
    response["X-Request-ID"] = request.META["cartsvc.request_id"]
    response["Cache-Control"] = "no-store"
    response["X-Content-Type-Options"] = "nosniff"
    if not isinstance(response, HttpResponseNotModified):
        response["Content-Length"] = str(len(response.content))


def _record(request: HttpRequest, response: HttpResponse, seconds: float) -> None:
    if request.method == "OPTIONS" and "Access-Control-Allow-Origin" not in response:
        with suppress(ValidationError):
            origin = browser_origin(request.META.get("HTTP_ORIGIN", ""))
            logs.warn_once_a_minute(UNLISTED_ORIGIN, origin)
    operation = request.META.get("cartsvc.operation")
    name = operation.name if operation else "-"
    logs.log_access(name, request, response, seconds)
    if settings.METRICS_BIND:
        metrics.count_request(name, response, seconds)


def head_error(environ: Mapping[str, Any]) -> ApiError | None:
    """Return the error of a request whose headers or address are too long, or None."""
    # Adding lengths is cheaper than looking at each header. What is no text has no length.
    if sum(map(length_hint, environ.values())) <= HEADER_MAX_LENGTH:
        return None
    lengths = [len(value) for name, value in environ.items() if name[:5] == "HTTP_"]
    if max(lengths, default=0) > HEADER_MAX_LENGTH or sum(lengths) > HEADERS_MAX_LENGTH:
        return HeadersTooLarge()
    if len(environ["PATH_INFO"]) + len(environ["QUERY_STRING"]) > ADDRESS_MAX_LENGTH:
        return UriTooLong()
    return None
