"""Invalid tokens: 401 with the header of RFC 6750, and nothing changes."""

import time
from collections.abc import Callable
from typing import Any

import pytest
from pytest_django import Settings

from cartsvc.serving import logs
from tests.api.clock import Clock
from tests.support import bodies
from tests.support.answers import assert_refused, error
from tests.support.callers import PROFILE, Api
from tests.support.issuers import verified_with
from tests.support.not_sent import NOT_SENT
from tests.support.table_contents import Unchanged
from tests.support.tokens import (
    encode,
    header_of,
    mint,
    mint_raw,
    private_key,
    public_jwk,
    public_pem,
    written,
)

CONFIGURED: dict[str, Callable[[], dict[str, Any]]] = {
    "HS256": dict,
    "RS256": lambda: {"ALGORITHM": "RS256", "VERIFYING_KEY": public_pem("RS256")},
    "ES256": lambda: {"ALGORITHM": "ES256", "VERIFYING_KEY": public_pem("ES256")},
}


def refused(token: str, algorithm: str) -> None:
    response = Api(token=token).post(body=bodies.cart())
    assert (algorithm, response.status_code) == (algorithm, 401)
    assert response.json() == error("invalid_token", "The bearer token is not valid here.")
    assert response["WWW-Authenticate"] == 'Bearer realm="cartsvc", error="invalid_token"'


@pytest.mark.parametrize("algorithm", [*CONFIGURED, "RS512", "PS256"])
def test_a_good_token_is_taken(db: None, algorithm: str) -> None:
    public = {} if algorithm == "HS256" else {"VERIFYING_KEY": public_pem(algorithm)}
    with verified_with(ALGORITHM=algorithm, **public):
        assert Api(token=mint(algorithm)).post(body=bodies.cart()).status_code == 200
        refused(mint(algorithm, key=private_key(algorithm, 1)), algorithm)


CHARACTERS = ["\0", "\n", "\x1b", "\x7f", "\x85", "\ud800"]
BAD_CLAIMS: dict[str, list[Any]] = {
    "token_type": ["refresh", "Access", None, ["access"]],
    "exp": [
        *(NOT_SENT, None, "tomorrow", "4102444800", [4_102_444_800], {}),
        # Beyond any calendar, 64 bits and a double.
        *(10**12, 10**17, 2**63 - 1, 10**30, 10**400, float("nan"), float("inf")),
    ],
    "nbf": [4_102_444_800, "now", None, 10**400, float("inf")],
    "iat": [4_102_444_800, "now", []],
    "sub": [NOT_SENT, None, "", 7, ["partner-app"], True, *(f"AC{each}E" for each in CHARACTERS)],
    "profileKey": [
        *(None, "", "me", 7, [str(PROFILE)], PROFILE.hex, f"{{{PROFILE}}}", f"{PROFILE}\n")
    ],
    "partnerKey": [None, "", 7, ["ACME"], True, *(f"AC{each}E" for each in CHARACTERS)],
}


@pytest.mark.parametrize("algorithm", CONFIGURED)
@pytest.mark.parametrize(
    ("claim", "value"),
    [
        pytest.param(claim, value, id=f"{claim} {ascii(value)[:20]}")
        for claim, values in BAD_CLAIMS.items()
        for value in values
    ],
)
def test_refuses_bad_claims(unchanged: Unchanged, algorithm: str, claim: str, value: Any) -> None:
    with verified_with(**CONFIGURED[algorithm]()):
        refused(mint(algorithm, **{claim: value}), algorithm)


@pytest.mark.parametrize(
    "exp", [lambda: int(time.time()) - 31, lambda: time.time() - 31, lambda: 0, lambda: True]
)
@pytest.mark.parametrize("algorithm", CONFIGURED)
def test_an_expired_token_says_so(
    unchanged: Unchanged, algorithm: str, exp: Callable[[], float]
) -> None:
    with verified_with(**CONFIGURED[algorithm]()):
        response = Api(token=mint(algorithm, exp=exp())).post(body=bodies.cart())
        forged = mint(algorithm, exp=exp(), key=private_key(algorithm, 1))
        refused(forged, algorithm)  # and does not learn that it has expired
    assert_refused(response, 401, "invalid_token", "The token has expired.")
    assert response["WWW-Authenticate"] == (
        'Bearer realm="cartsvc", error="invalid_token", error_description="The token has expired."'
    )


def altered(token: str, part: int, text: str) -> str:
    parts = token.split(".")
    parts[part] = text
    return ".".join(parts)


def signed(payload: bytes) -> Callable[[str], str]:
    """Return what signs this payload, which no library would."""
    return lambda alg: mint_raw(header_of(alg), payload, alg)


def headed(header: bytes) -> Callable[[str], str]:
    return lambda alg: mint_raw(header, algorithm=alg)


BAD_TOKENS: dict[str, Callable[[str], str]] = {
    "dots": lambda _: "..",
    "one part": lambda alg: mint(alg).split(".")[1],
    "two parts": lambda alg: mint(alg).rpartition(".")[0],
    "no signature": lambda alg: altered(mint(alg), 2, ""),
    "signature of another": lambda alg: altered(mint(alg), 2, mint(alg, sub="x").split(".")[2]),
    "signature no base64": lambda alg: altered(mint(alg), 2, "***"),
    "signature too long": lambda alg: mint(alg) + "AAAA",
    "payload changed": lambda alg: altered(mint(alg), 1, encode(written(sub="root"))),
    "none": lambda _: mint("none", key=""),
    "none with signature": lambda alg: altered(mint(alg), 0, encode(header_of("none"))),
    "NONE": lambda _: f"{encode(header_of('NONE'))}.{encode(written())}.",
    "tab in front": lambda alg: f"\t{mint(alg)}",
    "not ascii": lambda alg: mint(alg) + "\u00e9",
    "NUL": lambda alg: mint(alg) + "\0",
    "very long": lambda _: "a" * 8000,
    "header deep": headed(b"[" * 5000),
    "header not utf-8": headed(b'"\xff"'),
    "alg lower case": lambda alg: mint(alg, headers={"alg": alg.lower()}),
    "alg unknown": lambda alg: mint(alg, headers={"alg": "XX256"}),
    "critical extension": lambda alg: mint(alg, headers={"crit": ["urgent"], "urgent": True}),
    "payload list": signed(b"[]"),
    "payload no json": signed(b"{"),
    "payload not utf-8": signed(b'{"sub": "\xff"}'),
    "payload deep": signed(b'{"x":' + b"[" * 5000),
    "payload huge number": signed(b'{"exp": ' + b"9" * 5_000 + b"}"),
    "no claims": signed(b"{}"),
    # Right in all but the algorithm, or the key.
    "PS256": lambda _: mint("PS256"),
    "HS256 by another": lambda _: mint("HS256", key=private_key("HS256", 2)),
    "RS256 by another": lambda _: mint("RS256", key=private_key("RS256", 2)),
    "ES256 by another": lambda _: mint("ES256", key=private_key("ES256", 2)),
    "its own key in the header": lambda _: mint(
        "RS256", key=private_key("RS256", 3), headers={"jwk": public_jwk("RS256", 3)}
    ),
}


@pytest.mark.parametrize("make", BAD_TOKENS.values(), ids=BAD_TOKENS)
def test_refuses_bad_tokens(unchanged: Unchanged, make: Callable[[str], str]) -> None:
    for algorithm, configured in CONFIGURED.items():
        with verified_with(**configured()):
            refused(make(algorithm), algorithm)


@pytest.mark.parametrize("configured", ["RS256", "ES256"])
def test_the_public_key_is_no_shared_secret(unchanged: Unchanged, configured: str) -> None:
    """The classic confusion: a token that is signed by HMAC with the public key as the secret."""
    public = public_pem(configured)
    with verified_with(**CONFIGURED[configured]()):
        for secret in (public, public.strip(), public + "\n"):
            refused(mint(key=secret.encode()), configured)


LOGGED: dict[str, tuple[dict[str, Any], str]] = {
    "sub": ({"sub": NOT_SENT}, "The claim sub is missing, or is no text of one line."),
    "sub number": ({"sub": 7}, "Subject must be a string"),
    "aud": ({"aud": "others"}, "Audience doesn't match"),
    "no aud": ({"aud": NOT_SENT}, 'Token is missing the "aud" claim'),
    "iss": ({"iss": "others"}, "Invalid issuer"),
    "type": ({"token_type": "refresh"}, "The claim token_type is not access."),
    "clock": ({"iat": 4_102_444_800}, "The token is not yet valid (iat)"),
    "no exp": ({"exp": NOT_SENT}, "The claim exp is missing, or is no time in seconds."),
    "exp text": ({"exp": "soon"}, "Expiration Time claim (exp) must be an integer."),
    "nbf text": ({"nbf": "soon"}, "Not Before claim (nbf) must be an integer."),
    "jti": ({"jti": 7}, "JWT ID must be a string"),
    "profile": ({"profileKey": "me"}, "The claim profileKey is no GUID."),
    "forged": ({"aud": "others", "key": "0" * 64}, ""),
}


@pytest.mark.parametrize(("changes", "text"), LOGGED.values(), ids=LOGGED)
def test_the_log_says_once_a_minute_what_is_wrong_with_a_well_signed_token(
    unchanged: Unchanged,
    caplog: Any,
    clock: Clock,
    monkeypatch: pytest.MonkeyPatch,
    changes: dict[str, Any],
    text: str,
) -> None:
    monkeypatch.setattr(logs, "_warned_at", {})
    with verified_with(ISSUER="ours", AUDIENCE="ours"):
        token = mint(**{"iss": "ours", "aud": "ours", **changes})
        for _ in range(3):
            refused(token, "HS256")
        clock.now += logs.LOG_SECONDS
        refused(token, "HS256")
    accesses = [each for each in caplog.records if each.name == "cartsvc.access"]
    assert [each.members["code"] for each in accesses] == ["invalid_token"] * 4
    warnings = [each.getMessage() for each in caplog.records if each.levelname == "WARNING"]
    line = f"A token with a good signature was refused: {text}"
    assert warnings == ([line] * 2 if text else [])


# A token that was verified before is believed again: that one, and no longer than it lasts.


def ask(token: str) -> int:
    status: int = Api(token=token).get().status_code
    return status


def test_a_token_that_expires_meanwhile_is_refused(
    db: None, monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    ends = int(time.time()) + 1000
    token = mint(exp=ends - settings.JWT_LEEWAY)
    assert ask(token) == 200
    for now, status in ((ends - 1, 200), (ends, 401)):
        monkeypatch.setattr(time, "time", lambda now=now: now)
        assert ask(token) == status


def test_another_token_is_not_taken_for_it(db: None) -> None:
    token = mint()
    head, claims, signature = token.split(".")
    others = mint(sub="other").split(".")[1], "A" * len(signature)
    assert ask(token) == 200
    assert ask(f"{head}.{others[0]}.{signature}") == 401
    assert ask(f"{head}.{claims}.{others[1]}") == 401
    assert ask(f"{head}.{claims}.") == 401
    assert ask(token) == 200
