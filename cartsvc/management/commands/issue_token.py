import argparse
import time
from importlib import import_module
from typing import Any
from uuid import UUID

import jwt
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from cartsvc.api.operation import OPERATIONS
from cartsvc.control_characters import control_character
from cartsvc.management.durations import duration


class Command(BaseCommand):
    help = "Print a bearer token for the API. The service must hold a signing key."

    def add_arguments(self, parser: CommandParser) -> None:
        import_module(settings.ROOT_URLCONF)  # declares the operations
        scopes = sorted({scope for operation in OPERATIONS for scope in operation.scopes})

        def scope(text: str) -> str:
            if not set(text.split(" ")) <= set(scopes):
                raise argparse.ArgumentTypeError(
                    f"{text!r} is not one or more of {', '.join(scopes)}, separated by spaces"
                )
            return text

        add = parser.add_argument
        text = f"one or more of {', '.join(scopes)}, separated by spaces (%(default)s)"
        all_scopes = " ".join(sorted({operation.scope for operation in OPERATIONS}))
        add("--scope", type=scope, default=all_scopes, help=text)
        text = "the only customer profile that the token opens (default: all)"
        add("--profile", type=UUID, metavar="GUID", help=text)
        text = "the only partner that the token acts for (default: all)"
        add("--partner", type=_claim, metavar="KEY", help=text)
        add("--lifetime", type=duration, default="1h", help="such as 90s, 15m or 12h (%(default)s)")
        text = "the bearer: the claim sub (%(default)s)"
        add("--subject", type=_claim, default="issue_token", help=text)

    def handle(self, **options: Any) -> str:
        if not settings.JWT_SIGNING_KEY:
            raise CommandError(
                "This service verifies tokens and holds no key to sign them: JWT_VERIFYING_KEY "
                "or JWT_JWK_URL names another issuer. Get the token there, or set "
                "JWT_SIGNING_KEY."
            )
        now, profile = int(time.time()), options["profile"]
        claims = {
            "sub": options["subject"],
            "scope": options["scope"],
            "iat": now,
            "exp": now + int(options["lifetime"].total_seconds()),
            "iss": settings.JWT_ISSUER,
            "aud": settings.JWT_AUDIENCE,
            "profileKey": profile and str(profile),
            "partnerKey": options["partner"],
        }
        claims = {name: value for name, value in claims.items() if value}
        try:
            return jwt.encode(claims, settings.JWT_SIGNING_KEY, settings.JWT_ALGORITHM)
        except (jwt.InvalidKeyError, TypeError, ValueError) as error:
            raise CommandError(
                f"JWT_SIGNING_KEY is not a private key for {settings.JWT_ALGORITHM}: in PEM, "
                "without a password."
            ) from error


def _claim(text: str) -> str:
    """Return the text of a claim. The service would refuse a token with an empty one."""
    if not text or control_character(text):
        raise argparse.ArgumentTypeError(f"{text!r} is empty, or has a control character")
    return text
