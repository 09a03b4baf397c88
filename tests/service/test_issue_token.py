from io import StringIO
from typing import Any

import jwt
import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from pytest_django import Settings

from tests.support.callers import PROFILE
from tests.support.issuers import verified_with
from tests.support.tokens import public_pem


def issue(*arguments: str) -> str:
    out = StringIO()
    call_command("issue_token", *arguments, stdout=out)
    return out.getvalue().strip()


def claims(token: str) -> dict[str, Any]:
    return jwt.decode(token, settings.JWT_SIGNING_KEY, algorithms=["HS256"])


def test_token_says_what_it_was_asked_for() -> None:
    asked = "--scope=Cart.Read Cart.Write", f"--profile={PROFILE}", "--partner=ACME"
    found = claims(issue(*asked, "--lifetime=90s", "--subject=till-7"))
    assert found == {
        "sub": "till-7",
        "scope": "Cart.Read Cart.Write",
        "profileKey": str(PROFILE),
        "partnerKey": "ACME",
        "iat": found["iat"],
        "exp": found["iat"] + 90,
    }


@pytest.mark.parametrize(
    "argument",
    [
        "--partner=",
        "--partner=AC\x1bME",
        "--partner=ABCDE",
        "--partner= ",
        "--subject=",
        "--subject=till\x077",
        f"--subject={'x' * 10_000}",
        "--scope=",
        "--scope=Cart.AnyProfile",
        "--scope=Cart.Wirte",
        "--scope=Cart.Read,Cart.Write",
        "--lifetime=5x",
        "--profile=me",
    ],
)
def test_a_token_that_nobody_could_use_is_not_issued(argument: str) -> None:
    """An empty partner, such as an unset variable of a shell, would be all partners."""
    name = argument.partition("=")[0]
    with pytest.raises(CommandError, match=rf"^(Error: argument )?{name}: [^_]+$"):
        issue(argument)


def test_token_lives_an_hour_and_names_no_profile_and_partner_unless_told() -> None:
    found = claims(issue())
    assert found["exp"] - found["iat"] == 3600
    assert found.keys() == {"sub", "scope", "iat", "exp"}


def test_a_scope_on_request_is_not_given_without(settings: Settings) -> None:
    settings.JWT_REQUIRE_PROFILE = True
    assert claims(issue(f"--profile={PROFILE}"))["scope"] == "Cart.Write"
    for scope in "Cart.Read Cart.AnyProfile", "Cart.AnyProfile Cart.Close":
        assert claims(issue(f"--scope={scope}"))["scope"] == scope
    with pytest.raises(CommandError, match=r"Give --profile, or .* add Cart\.AnyProfile"):
        issue("--scope=Cart.Write Cart.Close")


def test_issuer_and_audience_are_the_configured_ones() -> None:
    with verified_with(ISSUER="https://id", AUDIENCE="carts"):
        found = jwt.decode(issue(), options={"verify_signature": False})
    assert (found["iss"], found["aud"]) == ("https://id", "carts")


@pytest.mark.parametrize("key", ["garbled", public_pem("RS256")], ids=["garbled", "public"])
def test_a_key_that_cannot_sign_is_named(key: str) -> None:
    with (
        verified_with(ALGORITHM="RS256", SIGNING_KEY=key, VERIFYING_KEY=public_pem("RS256")),
        pytest.raises(CommandError, match="JWT_SIGNING_KEY is not a private key for RS256"),
    ):
        issue()


def test_service_that_only_verifies_says_so() -> None:
    with (
        verified_with(SIGNING_KEY="", VERIFYING_KEY=public_pem("ES256")),
        pytest.raises(CommandError, match="holds no key to sign them"),
    ):
        issue()
