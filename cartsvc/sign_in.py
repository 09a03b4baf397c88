"""Limits on signing in: how many passwords are checked at once, and how many may be guessed.

Checking a password keeps a core busy for long, by design. So a process checks one at a time.
Attempts from one network wait in `cartsvc.pages.DeskTurns`; an attempt from another network is
told at once to try again.

django-axes counts the failures and locks a name. Failures in a browser in which the name has
signed in before are counted apart from all others. So strangers who guess lock each other
out, but not the member of staff.
"""

import secrets
from collections.abc import Callable, Mapping
from threading import Lock
from typing import Any

from django.conf import settings
from django.contrib import admin
from django.contrib.admin.forms import AdminAuthenticationForm
from django.contrib.auth import SESSION_KEY
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.crypto import salted_hmac

from cartsvc.api.rates import Rate, usage
from cartsvc.proxies import client_network

CHECKING = Lock()

# Attempts from one address, as in deploy/nginx.conf.
RATE = Rate(20, seconds=60)

# Passwords that a user may try on the page that changes it. Others may use an open browser.
CHANGES = Rate(5, seconds=15 * 60)

REMEMBERED = 400 * 24 * 60 * 60  # seconds; the longest time that browsers keep a cookie

BUSY = "Somebody else is signing in at this very moment. Nothing was checked: please try again."
TOO_FAST = "Too many attempts to sign in from your network. Please wait a minute and try again."
CHANGED_TOO_OFTEN = (
    "Too many attempts to change the password. Please wait up to 15 minutes and try again."
)
LOCKED = (
    "Too many failed attempts to sign in under this name. Please wait up to %d minutes, use a "
    "browser in which you have signed in before, or ask an administrator."
)


class SignIn:
    """Middleware that checks one password at a time and remembers browsers that signed in."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.method != "POST" or request.path not in _pages():
            return self.get_response(request)
        changes = request.path != reverse("admin:login")
        if seconds := _seconds_above_rate(request, changes=changes):
            text = CHANGED_TOO_OFTEN if changes else TOO_FAST
            return refusal(request, text, status=429, seconds=seconds)
        if not CHECKING.acquire(blocking=False):
            return refusal(request, BUSY, status=503, seconds=1)
        try:
            response = self.get_response(request)
        finally:
            CHECKING.release()
        if request.user.is_authenticated and not changes:
            _remember(response, request, request.user.get_username())
        return response


def _pages() -> set[str]:
    """Return the paths at which a password is checked."""
    return {reverse("admin:login"), reverse("admin:password_change")}


def refusal(request: HttpRequest, text: str, *, status: int, seconds: int) -> HttpResponse:
    """Return a page with the reason for the refusal: for a stranger, the sign-in page again.

    `seconds` is the value of Retry-After.
    """
    template = "429.html"
    context: dict[str, Any] = {"refused": text}
    if request.path == reverse("admin:login"):
        form = AdminAuthenticationForm(request, initial={"username": request.POST.get("username")})
        template = "admin/login.html"
        context |= {
            **admin.site.each_context(request),
            "title": "Log in",
            "app_path": request.get_full_path(),
            "next": request.POST.get("next", reverse("admin:index")),
            "form": form,
        }
    response = render(request, template, context, status=status)
    response["Retry-After"] = str(seconds)
    return response


def locked_out(request: HttpRequest, *_: Any) -> HttpResponse:
    """Return the answer to an attempt under a locked name. django-axes calls this."""
    seconds = int(settings.AXES_COOLOFF_TIME.total_seconds())
    return refusal(request, LOCKED % (seconds // 60), status=429, seconds=seconds)


def counted_as(request: HttpRequest, credentials: Mapping[str, Any] | None) -> str:
    """Return the name under which django-axes counts an attempt."""
    name = str((credentials or {}).get("username") or "")
    browser = _browser(request, name)
    # Cut to fit the column of django-axes. A real name has at most 150 characters.
    return f"{name[:200]} (browser {browser})" if browser else name[:200]


def _browser(request: HttpRequest, name: str) -> str:
    """Return the id of a browser in which this name has signed in before, else an empty text."""
    return request.get_signed_cookie(_cookie(name), "", salt=name, max_age=REMEMBERED) or ""


def _remember(response: HttpResponse, request: HttpRequest, name: str) -> None:
    response.set_signed_cookie(
        _cookie(name),
        _browser(request, name) or secrets.token_hex(8),
        salt=name,
        max_age=REMEMBERED,
        path=request.path,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def _cookie(name: str) -> str:
    """Return the name of the cookie, from which nobody can tell whose it is."""
    digest = salted_hmac(__name__, name, algorithm="sha256").hexdigest()
    return f"signed_in_{digest[:16]}"


def recorded_address(request: HttpRequest) -> str:
    """Return the address that django-axes records. It is never empty.

    django-axes keeps one row for each name and address.
    """
    return client_network(request) or "::"


def _seconds_above_rate(request: HttpRequest, *, changes: bool) -> int:
    """Count the attempt. Return how many seconds the caller must wait, 0 if not at all.

    `changes` tells a change of a password from a sign-in.
    """
    if changes:
        who, rate = f"password of {request.session.get(SESSION_KEY)}", CHANGES
    elif network := client_network(request):
        who, rate = f"sign-in {network}", RATE
    else:
        return 0
    attempts = usage(who, rate, counting=True)
    return attempts.seconds_left + 1 if attempts and attempts.is_over else 0
