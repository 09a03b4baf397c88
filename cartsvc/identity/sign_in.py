"""Signing in at the desk: passwords, and the age of a session.

django-axes counts the attempts of a name. Its limits, `AXES_…`, are in the settings.
"""

from collections.abc import Mapping
from time import time

from django.conf import settings
from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.hashers import Argon2PasswordHasher
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.urls import reverse

# Seconds. To renew a session with every page would cost each page a write.
RENEWAL = 600


class Argon2(Argon2PasswordHasher):
    """Argon2id with OWASP's first choice of parameters: strangers' attempts cost little time."""

    time_cost = 2
    memory_cost = 19 * 1024  # KiB
    parallelism = 1


class NewPasswordValidator:
    def validate(self, password: str, user: AbstractBaseUser | None = None) -> None:
        if user and user.has_usable_password() and user.check_password(password):
            raise ValidationError("This is the password so far. Choose another one.")

    def get_help_text(self) -> str:
        return "The password can’t be the one so far."


def renew_session(request: HttpRequest) -> None:
    """Let the age of the session count from this page of a user."""
    last_login = request.user.last_login  # type: ignore[union-attr] # it is staff's
    began = last_login.timestamp() if last_login else 0  # the shell may have taken it away
    if time() - request.session.get("renewed", began) > RENEWAL:
        request.session["renewed"] = int(time())


def has_ended(request: HttpRequest) -> bool:
    """Return whether the sender is no longer signed in: a cookie or a form shows that they were."""
    was = settings.SESSION_COOKIE_NAME in request.COOKIES or request.method == "POST"
    return was and request.user.is_anonymous and request.path != reverse("admin:login")


def attempted_name(_request: HttpRequest, credentials: Mapping[str, str] | None) -> str:
    """Return the name that django-axes counts. It fits the column, as every real name does."""
    return str((credentials or {}).get("username") or "")[:200]
