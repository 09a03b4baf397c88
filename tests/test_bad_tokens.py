"""Tokens that are not valid here: 401 with the header of RFC 6750, and nothing changes."""

import json
import time
from collections.abc import Callable
from typing import Any

import jwt
import pytest

from tests import payloads
from tests.conftest import PROFILE, Api, error
from tests.tokens import (
    claims,
    encode,
    header_of,
    pem,
    private_key,
    sign,
    sign_raw,
    verified_with,
)

CONFIGURED: dict[str, Callable[[], dict[str, Any]]] = {
    "HS256": dict,
    "RS256": lambda: {"ALGORITHM": "RS256", "VERIFYING_KEY": pem("RS256")},
    "ES256": lambda: {"ALGORITHM": "ES256", "VERIFYING_KEY": pem("ES256")},
}


def call(token: str) -> Any:
    api = Api()
    api.client.defaults["HTTP_AUTHORIZATION"] = f"Bearer {token}"
    return api.post(body=payloads.cart())


def refused(token: str, algorithm: str) -> None:
    response = call(token)
    assert (algorithm, response.status_code) == (algorithm, 401)
    assert response.json() == error(
        "invalid_token", "The bearer token is not valid here, or has expired."
    )
    assert response["WWW-Authenticate"] == 'Bearer realm="cartsvc", error="invalid_token"'


@pytest.mark.parametrize("algorithm", CONFIGURED)
def test_a_good_token_is_taken(db: None, algorithm: str) -> None:
    with verified_with(**CONFIGURED[algorithm]()):
        assert call(sign(claims(), algorithm)).status_code == 200


def in_(seconds: float) -> float:
    return time.time() + seconds


BAD_CLAIMS: dict[str, Callable[[], dict[str, Any]]] = {
    "expired": lambda: {"exp": int(in_(-31))},
    "expired long ago": lambda: {"exp": 1},
    "exp absent": lambda: {"exp": ...},
    "exp null": lambda: {"exp": None},
    "exp text": lambda: {"exp": "tomorrow"},
    "exp number in text": lambda: {"exp": str(int(in_(600)))},
    "exp date": lambda: {"exp": "2099-01-01T00:00:00Z"},
    "exp list": lambda: {"exp": [int(in_(600))]},
    "exp object": lambda: {"exp": {}},
    "exp true": lambda: {"exp": True},
    "exp zero": lambda: {"exp": 0},
    "exp negative": lambda: {"exp": -1},
    "exp beyond any calendar": lambda: {"exp": 10**12},
    "exp of 31 digits": lambda: {"exp": 10**30},
    "exp beyond a double": lambda: {"exp": 10**400},
    "exp NaN": lambda: {"exp": float("nan")},
    "exp infinite": lambda: {"exp": float("inf")},
    "nbf in future": lambda: {"nbf": int(in_(60))},
    "nbf text": lambda: {"nbf": "now"},
    "nbf null": lambda: {"nbf": None},
    "nbf huge": lambda: {"nbf": 10**400},
    "nbf infinite": lambda: {"nbf": float("inf")},
    "iat in future": lambda: {"iat": int(in_(60))},
    "iat text": lambda: {"iat": "now"},
    "iat list": lambda: {"iat": []},
    "sub absent": lambda: {"sub": ...},
    "sub null": lambda: {"sub": None},
    "sub empty": lambda: {"sub": ""},
    "sub number": lambda: {"sub": 7},
    "sub list": lambda: {"sub": ["partner-app"]},
    "sub true": lambda: {"sub": True},
    "profile null": lambda: {"profileKey": None},
    "profile empty": lambda: {"profileKey": ""},
    "profile no guid": lambda: {"profileKey": "me"},
    "profile number": lambda: {"profileKey": 7},
    "profile list": lambda: {"profileKey": [str(PROFILE)]},
    "profile without dashes": lambda: {"profileKey": PROFILE.hex},
    "profile in braces": lambda: {"profileKey": f"{{{PROFILE}}}"},
    "profile and line feed": lambda: {"profileKey": f"{PROFILE}\n"},
    "partner null": lambda: {"partnerKey": None},
    "partner empty": lambda: {"partnerKey": ""},
    "partner number": lambda: {"partnerKey": 7},
    "partner list": lambda: {"partnerKey": ["ACME"]},
    "partner true": lambda: {"partnerKey": True},
}


@pytest.mark.parametrize("change", BAD_CLAIMS.values(), ids=BAD_CLAIMS)
def test_refuses_bad_claims(
    unchanged: Callable[[], None], change: Callable[[], dict[str, Any]]
) -> None:
    payload = json.dumps(claims(**change())).encode()
    for algorithm, configured in CONFIGURED.items():
        with verified_with(**configured()):
            refused(sign_raw(header_of(algorithm), payload, algorithm), algorithm)


def altered(token: str, part: int, text: str) -> str:
    parts = token.split(".")
    parts[part] = text
    return ".".join(parts)


def last_changed(text: str) -> str:
    """Change the first character: the last one of base64 may carry no bit at all."""
    return ("A" if text[0] != "A" else "B") + text[1:]


BAD_TOKENS: dict[str, Callable[[str], str]] = {
    "word": lambda _: "token",
    "dots": lambda _: "..",
    "one part": lambda alg: sign(claims(), alg).split(".")[1],
    "two parts": lambda alg: sign(claims(), alg).rpartition(".")[0],
    "four parts": lambda alg: sign(claims(), alg) + ".x",
    "five parts": lambda alg: sign(claims(), alg) + ".x.y",
    "no signature": lambda alg: altered(sign(claims(), alg), 2, ""),
    "signature changed": lambda alg: altered(
        sign(claims(), alg), 2, last_changed(sign(claims(), alg).split(".")[2])
    ),
    "signature of another": lambda alg: altered(
        sign(claims(), alg), 2, sign(claims(sub="x"), alg).split(".")[2]
    ),
    "signature no base64": lambda alg: altered(sign(claims(), alg), 2, "***"),
    "signature too long": lambda alg: sign(claims(), alg) + "AAAA",
    "payload changed": lambda alg: altered(
        sign(claims(), alg), 1, encode(json.dumps(claims(sub="root")).encode())
    ),
    "payload empty": lambda alg: altered(sign(claims(), alg), 1, ""),
    "another key": lambda alg: sign(claims(), alg, key=1),
    "none": lambda _: jwt.encode(claims(), "", "none"),
    "none with signature": lambda alg: altered(sign(claims(), alg), 0, encode(header_of("none"))),
    "NONE": lambda _: f"{encode(header_of('NONE'))}.{encode(json.dumps(claims()).encode())}.",
    "quoted": lambda alg: f'"{sign(claims(), alg)}"',
    "twice": lambda alg: f"{sign(claims(), alg)} {sign(claims(), alg)}",
    "comma": lambda alg: f"{sign(claims(), alg)}, {sign(claims(), alg)}",
    "scheme twice": lambda alg: f"Bearer {sign(claims(), alg)}",
    "tab in front": lambda alg: f"\t{sign(claims(), alg)}",
    "not ascii": lambda alg: sign(claims(), alg) + "\u00e9",
    "NUL": lambda alg: sign(claims(), alg) + "\0",
    "very long": lambda _: "a" * 100_000,
    "many dots": lambda _: "." * 10_000,
    "header empty object": lambda alg: sign_raw(b"{}", json.dumps(claims()).encode(), alg),
    "header list": lambda alg: sign_raw(b"[]", json.dumps(claims()).encode(), alg),
    "header null": lambda alg: sign_raw(b"null", json.dumps(claims()).encode(), alg),
    "header no json": lambda alg: sign_raw(b"{", json.dumps(claims()).encode(), alg),
    "header deep": lambda alg: sign_raw(b"[" * 20_000, json.dumps(claims()).encode(), alg),
    "header not utf-8": lambda alg: sign_raw(b'"\xff"', json.dumps(claims()).encode(), alg),
    "alg null": lambda alg: sign_raw(header_of(alg, alg=None), json.dumps(claims()).encode(), alg),
    "alg number": lambda alg: sign_raw(header_of(alg, alg=1), json.dumps(claims()).encode(), alg),
    "alg list": lambda alg: sign_raw(header_of(alg, alg=[alg]), json.dumps(claims()).encode(), alg),
    "alg lower case": lambda alg: sign_raw(
        header_of(alg, alg=alg.lower()), json.dumps(claims()).encode(), alg
    ),
    "alg unknown": lambda alg: sign_raw(
        header_of(alg, alg="XX256"), json.dumps(claims()).encode(), alg
    ),
    "critical extension": lambda alg: sign(claims(), alg, crit=["urgent"], urgent=True),
    "kid number": lambda alg: sign_raw(header_of(alg, kid=7), json.dumps(claims()).encode(), alg),
    "payload list": lambda alg: sign_raw(header_of(alg), b"[]", alg),
    "payload text": lambda alg: sign_raw(header_of(alg), b'"x"', alg),
    "payload number": lambda alg: sign_raw(header_of(alg), b"7", alg),
    "payload null": lambda alg: sign_raw(header_of(alg), b"null", alg),
    "payload no json": lambda alg: sign_raw(header_of(alg), b"{", alg),
    "payload not utf-8": lambda alg: sign_raw(header_of(alg), b'{"sub": "\xff"}', alg),
    "payload deep": lambda alg: sign_raw(header_of(alg), b'{"x":' + b"[" * 50_000, alg),
    "payload huge number": lambda alg: sign_raw(
        header_of(alg), b'{"exp": ' + b"9" * 5_000 + b"}", alg
    ),
    "no claims": lambda alg: sign({}, alg),
    "HS384": lambda _: sign_raw(header_of("HS384"), json.dumps(claims()).encode(), "HS384"),
    "HS512": lambda _: sign_raw(header_of("HS512"), json.dumps(claims()).encode(), "HS512"),
    "HS256 by another": lambda _: sign(claims(), "HS256", key=2),
    "RS256 by another": lambda _: sign(claims(), "RS256", key=2),
    "RS512": lambda _: sign(claims(), "RS512", key=2),
    "PS256": lambda _: sign(claims(), "PS256"),
    "ES256 by another": lambda _: sign(claims(), "ES256", key=2),
    "EdDSA": lambda _: altered(sign(claims()), 0, encode(header_of("EdDSA"))),
    "its own key in the header": lambda _: sign(
        claims(),
        "RS256",
        key=3,
        jwk=jwt.get_algorithm_by_name("RS256").to_jwk(
            private_key("RS256", 3).public_key(), as_dict=True
        ),
    ),
    "its own key elsewhere": lambda _: sign(
        claims(), "RS256", key=3, jku="http://127.0.0.1:1/jwks", x5u="http://127.0.0.1:1/"
    ),
}


@pytest.mark.parametrize("make", BAD_TOKENS.values(), ids=BAD_TOKENS)
def test_refuses_bad_tokens(unchanged: Callable[[], None], make: Callable[[str], str]) -> None:
    for algorithm, configured in CONFIGURED.items():
        with verified_with(**configured()):
            refused(make(algorithm), algorithm)


@pytest.mark.parametrize("configured", ["RS256", "ES256"])
def test_the_public_key_is_no_shared_secret(unchanged: Callable[[], None], configured: str) -> None:
    """The classic confusion: a token signed by HMAC with what everybody knows."""
    public = pem(configured)
    signing_input = f"{encode(header_of('HS256'))}.{encode(json.dumps(claims()).encode())}"
    hmac = jwt.get_algorithm_by_name("HS256")
    with verified_with(**CONFIGURED[configured]()):
        for secret in (public, public.strip(), public + "\n"):
            signature = hmac.sign(signing_input.encode(), secret.encode())
            refused(f"{signing_input}.{encode(signature)}", configured)


def test_there_are_sixty_kinds_and_more() -> None:
    assert len(BAD_CLAIMS) + len(BAD_TOKENS) >= 60
