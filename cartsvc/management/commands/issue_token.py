import argparse
import time
from collections.abc import Callable, Collection
from datetime import timedelta
from importlib import import_module
from uuid import UUID

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from jwt import InvalidKeyError

from cartsvc.api.operation import OPERATIONS
from cartsvc.characters import UNPRINTABLE
from cartsvc.identity.bearer_tokens import token_backend
from cartsvc.management.durations import duration


class Command(BaseCommand):
    help = "Print a bearer token for the API. The service must hold a signing key."

    def add_arguments(self, parser: CommandParser) -> None:
        import_module(settings.ROOT_URLCONF)  # declares the operations
        scopes = {scope for operation in OPERATIONS for scope in operation.scopes}
        scopes |= settings.SCOPES_ON_REQUEST
        usual = {operation.scopes[-1] for operation in OPERATIONS} - settings.SCOPES_ON_REQUEST
        parser.add_argument(
            "--scope",
            type=_one_of(sorted(scopes)),
            default=" ".join(sorted(usual)),
            help=f"one or more of {', '.join(sorted(scopes))}, separated by spaces (%(default)s)",
        )
        parser.add_argument(
            "--profile",
            type=UUID,
            metavar="GUID",
            help="the only customer profile that the token opens (default: all)",
        )
        parser.add_argument(
            "--partner",
            type=_claim,
            metavar="KEY",
            help="the only partner that the token acts for (default: all)",
        )
        parser.add_argument(
            "--lifetime", type=duration, default="1h", help="such as 90s, 15m or 12h (%(default)s)"
        )
        parser.add_argument(
            "--subject",
            type=_claim,
            default="issue_token",
            help="the bearer: the claim sub (%(default)s)",
        )

    def handle(
        self,
        *,
        scope: str,
        profile: UUID | None,
        partner: str | None,
        lifetime: timedelta,
        subject: str,
        **_options: object,
    ) -> str:
        if not settings.JWT_SIGNING_KEY:
            raise CommandError(
                "This service verifies tokens and holds no key to sign them: JWT_VERIFYING_KEY "
                "or JWT_JWK_URL names another issuer. Get the token there, or set "
                "JWT_SIGNING_KEY."
            )
        opens = profile or settings.ANY_PROFILE_SCOPE in scope.split(" ")
        if settings.JWT_REQUIRE_PROFILE and not opens:
            raise CommandError(
                "The service would refuse this token. Give --profile, or for a back end add "
                f"{settings.ANY_PROFILE_SCOPE} to --scope."
            )
        now = int(time.time())
        claims = {
            "sub": subject,
            "scope": scope,
            "iat": now,
            "exp": now + int(lifetime.total_seconds()),
        }
        if profile:
            claims["profileKey"] = str(profile)
        if partner:
            claims["partnerKey"] = partner
        try:
            return token_backend().encode(claims)
        except (InvalidKeyError, AttributeError, TypeError, ValueError) as error:  # or a public one
            raise CommandError(
                f"JWT_SIGNING_KEY is not a private key for {settings.JWT_ALGORITHM}: in PEM, "
                "without a password."
            ) from error


def _one_of(scopes: Collection[str]) -> Callable[[str], str]:
    def scope(text: str) -> str:
        if not text.split() or not set(text.split(" ")) <= set(scopes):
            raise argparse.ArgumentTypeError(
                f"{text!r} is not one or more of {', '.join(scopes)}, separated by spaces"
            )
        return text

    return scope


def _claim(text: str) -> str:
    """Return the text of a claim. The service would refuse a token with an empty one."""
    if not text or UNPRINTABLE.search(text):
        raise argparse.ArgumentTypeError(f"{text!r} is empty, or has a control character")
    return text
