"""An issuer's keys: rotated, forged and withheld. The issuer is a real HTTP server."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from django.http import HttpResponse
from django.test import Client

from cartsvc.identity import bearer_tokens, issuer_keys
from tests.api.clock import Clock
from tests.support.answers import assert_refused, errors_of
from tests.support.callers import Api
from tests.support.certificates import make_certificate
from tests.support.issuers import Issuer, fetch_keys, running, verified_with
from tests.support.not_sent import NOT_SENT
from tests.support.programs import wait_until
from tests.support.tokens import mint, private_key, public_jwk, public_pem

NUMBERS = {"old": 0, "new": 1, "forged": 2}


def key(name: str) -> Any:
    return private_key("RS256", NUMBERS[name])


def public(name: str, **changes: Any) -> dict[str, Any]:
    return public_jwk("RS256", NUMBERS[name], **{"kid": name} | changes)


@pytest.fixture
def issuer(db: None, clock: Clock) -> Iterator[Issuer]:
    """Return an issuer with one key, which the service has as a worker that starts has it."""
    with (
        running(public("old")) as found,
        verified_with(ALGORITHM="RS256", JWK_URL=found.url),
    ):
        bearer_tokens.fetch_issuer_keys()
        yield found


def token(kid: Any, signer: Any = None, **headers: Any) -> str:
    """Return a token that names this key. It is signed with this key or with another."""
    return mint("RS256", key=signer or key(kid), headers={"kid": kid, **headers})


def ask(bearer: str) -> Any:
    return Api(token=bearer).get()


def test_a_published_key_opens_by_its_id(issuer: Issuer) -> None:
    issuer.keys.append(public("new"))
    assert fetch_keys()
    for _ in range(3):
        assert [ask(token(kid)).status_code for kid in ("old", "new")] == [200, 200]
        assert ask(token("old", key("new"))).status_code == 401
    assert issuer.asked == 2


def test_a_rotated_key_opens_after_the_cooldown(issuer: Issuer, clock: Clock) -> None:
    assert ask(token("old")).status_code == 200
    issuer.keys = [public("new")]
    assert ask(token("new")).status_code == 401
    clock.now += issuer_keys.COOLDOWN_SECONDS - 0.1
    assert ask(token("new")).status_code == 401
    clock.now += 0.2
    assert_unavailable(ask(token("new")))
    wait_until(lambda: ask(token("new")).status_code == 200)
    assert ask(token("old")).status_code == 401
    assert issuer.asked == 2


FORGED = {
    "signed with another key": lambda: token("old", key("forged")),
    "jwk in the header": lambda: token("old", key("forged"), jwk=public("forged", kid="old")),
    "jku in the header": lambda: token("old", key("forged"), jku="http://127.0.0.1:9/evil"),
    "x5u in the header": lambda: token("old", key("forged"), x5u="http://127.0.0.1:9/evil"),
    "no kid": lambda: token(NOT_SENT, key("old")),
    "kid number": lambda: token(7, key("old")),
    "kid list": lambda: token(["old"], key("old")),
    "kid of a path": lambda: token("../../dev/null", key("forged")),
    "the public key as a secret": lambda: mint(
        key=public_pem("RS256").encode(), headers={"kid": "old"}
    ),
}


@pytest.mark.parametrize("forge", FORGED.values(), ids=FORGED)
def test_a_forged_token_is_refused(issuer: Issuer, forge: Any) -> None:
    answer = ask(forge())
    assert (answer.status_code, errors_of(answer)) == (401, [("invalid_token", None)])


def test_a_key_of_another_kind_is_refused(issuer: Issuer) -> None:
    issuer.keys = [public_jwk("ES256", kid="old"), public("new")]
    assert fetch_keys()
    assert ask(token("old")).status_code == 401


def test_a_key_without_an_id_is_that_of_tokens_without_one(issuer: Issuer) -> None:
    issuer.keys = [public("old", kid=None)]
    assert fetch_keys()
    assert ask(token(NOT_SENT, key("old"))).status_code == 200
    assert ask(token(NOT_SENT, key("forged"))).status_code == 401
    assert ask(token("old")).status_code == 401
    issuer.keys.append(public("new"))  # among several, nobody knows which one is meant
    assert fetch_keys()
    assert ask(token(NOT_SENT, key("old"))).status_code == 401


# Of RSA, 2048 bits are the fewest, as in JWT_VERIFYING_KEY.
SHORT_KEY = rsa.generate_private_key(65537, 1024)
SHORT = {**jwt.algorithms.RSAAlgorithm.to_jwk(SHORT_KEY.public_key(), as_dict=True), "kid": "short"}
HEAD = b"HTTP/1.0 200 OK\r\n\r\n"
OUTAGES = {
    "500": b"HTTP/1.0 500 Oops\r\n\r\n",
    "an HTML page": HEAD + b"<html>Maintenance</html>",
    "null": HEAD + b"null",
    "half a body": b"HTTP/1.0 200 OK\r\nContent-Length: 999\r\n\r\n{",
    "no keys": HEAD + b'{"keys": []}',
    "a redirect": b"HTTP/1.0 302 Found\r\nLocation: http://127.0.0.1:9/\r\n\r\n",
    "no key to sign with": HEAD + json.dumps({"keys": [public("old", use="enc")]}).encode(),
    "two keys without ids": HEAD + json.dumps({"keys": [public("old", kid=None)] * 2}).encode(),
    "a short key": HEAD + json.dumps({"keys": [SHORT]}).encode(),
    "no text": HEAD + b"\xff\xfe\xfd",
}


def assert_unavailable(answer: HttpResponse) -> None:
    text = "The keys that verify tokens cannot be fetched right now."
    assert_refused(answer, 503, "unavailable", text)
    assert answer["Retry-After"] == "1"
    assert "WWW-Authenticate" not in answer


def test_an_instance_waits_for_the_first_keys_and_for_no_later_ones(
    issuer: Issuer, clock: Clock
) -> None:
    """One issuer must not take all instances out. Without requests, the check asks it."""
    client, issuer.raw = Client(), b""
    with verified_with(ALGORITHM="RS256", JWK_URL=issuer.url):
        for _ in range(2):
            response = client.get("/readyz")
            assert (response.status_code, response.json()) == (
                503,
                {"status": "issuer unreachable"},
            )
        issuer.raw = None
        clock.now += issuer_keys.COOLDOWN_SECONDS
        assert client.get("/readyz").json() == {"status": "ok"}
        issuer.raw = b""
        clock.now += 2 * issuer_keys.MAX_AGE_SECONDS
        assert client.get("/readyz").json() == {"status": "ok"}


@pytest.mark.parametrize("raw", OUTAGES.values(), ids=OUTAGES)
def test_an_issuer_out_of_order_is_503(issuer: Issuer, raw: bytes) -> None:
    issuer.raw = raw
    with verified_with(ALGORITHM="RS256", JWK_URL=issuer.url):
        assert not fetch_keys()
        for _ in range(5):
            assert_unavailable(ask(token("old")))
        wait_until(lambda: issuer.asked == 3)  # once for all five


def test_a_document_above_the_limit_in_bytes_is_an_outage(issuer: Issuer) -> None:
    issuer.keys = [public("old", x5c="A" * (issuer_keys.MAX_BYTES - 1000))]
    assert fetch_keys()
    issuer.keys = [public("new", x5c="A" * issuer_keys.MAX_BYTES)]
    assert not fetch_keys()
    assert ask(token("old")).status_code == 200


def test_nobody_waits_for_an_issuer_that_hangs(
    issuer: Issuer, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(issuer_keys, "TIMEOUT_SECONDS", 60)
    clock.now += issuer_keys.COOLDOWN_SECONDS + 0.1
    issuer.answering.clear()
    started = time.perf_counter()
    for number in range(10):
        assert_unavailable(ask(token(f"unknown-{number}", key("forged"))))
        assert ask(token("old")).status_code == 200
    wait_until(lambda: issuer.asked == 2)  # once for all ten
    # The issuer answers after thirty seconds.
    assert time.perf_counter() - started < 25
    issuer.answering.set()


def test_an_issuer_that_drips_is_cut_off(issuer: Issuer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each byte comes in time, but all of them would take minutes."""
    monkeypatch.setattr(issuer_keys, "TIMEOUT_SECONDS", 0.5)
    issuer.pause = 0.2
    started = time.perf_counter()
    assert not fetch_keys()
    assert time.perf_counter() - started < 10
    assert ask(token("old")).status_code == 200
    issuer.pause, issuer.keys = 0, [public("new")]
    assert fetch_keys()
    assert ask(token("new")).status_code == 200


@pytest.mark.parametrize("trusted", [True, False])
def test_keys_come_from_whom_a_certificate_names(
    db: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *, trusted: bool
) -> None:
    make_certificate(tmp_path, "localhost")
    if trusted:
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "certificate.pem"))
    with running(public("old")) as issuer:
        issuer.encrypt(tmp_path)
        with verified_with(ALGORITHM="RS256", JWK_URL=issuer.url):
            assert fetch_keys() == trusted
            assert ask(token("old")).status_code == (200 if trusted else 503)
    assert issuer.asked == trusted


def test_old_keys_do_not_serve_for_ever(issuer: Issuer, clock: Clock) -> None:
    issuer.raw = b""
    clock.now += issuer_keys.MAX_AGE_SECONDS - 1
    assert ask(token("old")).status_code == 200
    clock.now += 2
    assert_unavailable(ask(token("old")))


def test_keys_are_fetched_again_while_the_known_ones_serve(issuer: Issuer, clock: Clock) -> None:
    clock.now += issuer_keys.REFRESH_SECONDS + 0.1
    issuer.keys = [public("new")]
    issuer.answering.clear()
    assert ask(token("old")).status_code == 200
    issuer.answering.set()
    wait_until(lambda: ask(token("old")).status_code == 401)
    assert ask(token("new")).status_code == 200
    assert issuer.asked == 2


def test_the_first_request_after_a_quiet_night_waits_for_the_keys(
    issuer: Issuer, clock: Clock
) -> None:
    clock.now += issuer_keys.MAX_AGE_SECONDS + 1
    assert ask(token("old")).status_code == 200
