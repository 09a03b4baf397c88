import time
from argparse import ArgumentTypeError
from datetime import timedelta
from functools import partial
from importlib import import_module
from typing import Any
from uuid import UUID

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from jwt import InvalidKeyError

from carts.management.durations import duration
from carts.models.cart_change import NAME_LENGTH
from carts.records import NewCart
from carts.value_types import Line, ValueType, types_of
from cartsvc.api.operation import OPERATIONS
from cartsvc.identity.bearer_tokens import token_backend
from cartsvc.request_errors import ApiError


class Command(BaseCommand):
    help = "Print a bearer token for the API. The service must hold a signing key."

    def add_arguments(self, parser: CommandParser) -> None:
        import_module(settings.ROOT_URLCONF)  # declares the operations
        usual = {one.scopes[-1] for one in OPERATIONS if not one.needs_all_scopes}
        usual -= settings.SCOPES_ON_REQUEST
        parser.add_argument(
            "--scope",
            default=" ".join(sorted(usual)),
            help=f"one or more of {', '.join(_scopes())}, separated by spaces (%(default)s)",
        )
        parser.add_argument(
            "--profile",
            type=UUID,
            metavar="GUID",
            help="the only customer profile that the token opens (default: all)",
        )
        parser.add_argument(
            "--partner",
            type=partial(_checked, types_of(NewCart)["partner_key"]),
            metavar="KEY",
            help="the only partner that the token acts for (default: all)",
        )
        parser.add_argument(
            "--lifetime", type=duration, default="1h", help="such as 90s, 15m or 12h (%(default)s)"
        )
        parser.add_argument(
            "--subject",
            type=partial(_checked, Line(NAME_LENGTH)),
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
        if unknown := set(scope.split(" ")).difference(_scopes()):
            raise CommandError(f"--scope: {' '.join(unknown)!r} is none of {', '.join(_scopes())}")
        if scope == settings.ANY_PROFILE_SCOPE:
            raise CommandError(f"--scope: {scope} alone opens nothing. Add another.")
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
        issued = int(time.time())
        claims = {
            "sub": subject,
            "scope": scope,
            "iat": issued,
            "exp": issued + int(lifetime.total_seconds()),
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


def _scopes() -> list[str]:
    declared = {scope for operation in OPERATIONS for scope in operation.scopes}
    return sorted(declared | settings.SCOPES_ON_REQUEST)


def _checked(kind: ValueType, text: str) -> Any:
    try:
        return kind.check(text)
    except ApiError as error:
        raise ArgumentTypeError(error.sentence) from error
