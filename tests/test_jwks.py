"""The keys of another issuer: rotated, forged, withheld. The issuer is a real HTTP server."""

import base64
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from django.http import HttpResponse
from django.test import Client
from rest_framework_simplejwt.exceptions import TokenBackendError

from cartsvc.api import authentication, jwks
from tests.conftest import PROFILE, problems

PATH = f"/v2.0/customers/{PROFILE}/carts"
KEYS = {name: rsa.generate_private_key(65537, 2048) for name in ("old", "new", "forged")}


def public(name: str, **changes: Any) -> dict[str, Any]:
    key = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(KEYS[name].public_key()))
    return {**key, "kid": name, "alg": "RS256", "use": "sig", **changes}


class Issuer:
    """Publishes `keys`, or whatever bytes `raw` holds, and counts how often it is asked."""

    def __init__(self) -> None:
        self.keys: list[dict[str, Any]] = [public("old")]
        self.raw: bytes | None = None
        self.asked = 0
        issuer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                issuer.asked += 1
                if issuer.raw is not None:
                    self.wfile.write(issuer.raw)
                    return
                self.send_response(200)
                self.end_headers()
                self.wfile.write(json.dumps({"keys": issuer.keys}).encode())

            def log_message(self, *args: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/jwks"
        threading.Thread(target=self.server.serve_forever, args=[0.02], daemon=True).start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


Trust = Callable[[str], None]


@pytest.fixture
def trust(db: None, settings: Any) -> Iterator[Trust]:
    def believe(url: str) -> None:
        settings.JWT_ALGORITHM, settings.JWT_JWK_URL = "RS256", url
        authentication.token_backend.cache_clear()

    yield believe
    authentication.token_backend.cache_clear()


@pytest.fixture
def issuer(trust: Trust) -> Iterator[Issuer]:
    running = Issuer()
    trust(running.url)
    yield running
    running.close()


def token(kid: str | None, key: Any = None, **headers: Any) -> str:
    payload = {"sub": "abc", "scope": "Cart.Write", "exp": int(time.time()) + 600}
    if kid is not None:
        headers["kid"] = kid
    return jwt.encode(payload, key or KEYS[kid or "old"], algorithm="RS256", headers=headers)


def ask(bearer: str) -> Any:
    return Client(headers={"Authorization": f"Bearer {bearer}"}).get(PATH)


def test_a_published_key_opens(issuer: Issuer) -> None:
    assert [ask(token("old")).status_code for _ in range(5)] == [200] * 5
    assert issuer.asked == 1


def test_a_rotated_key_opens_after_the_cooldown(
    issuer: Issuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jwks, "COOLDOWN_SECONDS", 0.3)
    authentication.token_backend.cache_clear()
    assert ask(token("old")).status_code == 200
    issuer.keys = [public("new")]
    assert ask(token("new")).status_code == 401
    time.sleep(0.4)
    assert ask(token("new")).status_code == 200
    assert ask(token("old")).status_code == 401


def test_a_burst_of_unknown_keys_asks_the_issuer_once(issuer: Issuer) -> None:
    answers = [ask(token(f"unknown-{n}", KEYS["forged"])) for n in range(50)]
    assert {answer.status_code for answer in answers} == {401}
    assert issuer.asked == 1


def token_of_confusion() -> str:
    """HS256 with the published key for a secret: algorithm confusion."""
    pem = (
        KEYS["old"]
        .public_key()
        .public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    )
    head, payload, _ = token("old").split(".")
    head = base64.urlsafe_b64encode(b'{"alg":"HS256","kid":"old"}').rstrip(b"=").decode()
    digest = jwt.algorithms.HMACAlgorithm(jwt.algorithms.HMACAlgorithm.SHA256)
    signature = digest.sign(f"{head}.{payload}".encode(), pem)
    return f"{head}.{payload}.{base64.urlsafe_b64encode(signature).rstrip(b'=').decode()}"


FORGED = {
    "signed with another key": lambda: token("old", KEYS["forged"]),
    "jwk in the header": lambda: token("old", KEYS["forged"], jwk=public("forged", kid="old")),
    "jku in the header": lambda: token("old", KEYS["forged"], jku="http://127.0.0.1:9/evil"),
    "x5u in the header": lambda: token("old", KEYS["forged"], x5u="http://127.0.0.1:9/evil"),
    "no kid": lambda: token(None),
    "kid of a path": lambda: token("../../dev/null", KEYS["forged"]),
    "kid of SQL": lambda: token("' UNION SELECT 'x", KEYS["forged"]),
    "empty kid": lambda: token("", KEYS["forged"]),
    "the public key as a secret": token_of_confusion,
    "none": lambda: jwt.encode({"sub": "a", "scope": "Cart.Write"}, None, algorithm="none"),
    "kid of 100 kB": lambda: token("k" * 100_000, KEYS["forged"]),
    "crit": lambda: token("old", crit=["b64"], b64=False),
}


@pytest.mark.parametrize("forge", FORGED.values(), ids=FORGED)
def test_a_forged_token_is_refused(issuer: Issuer, forge: Any) -> None:
    answer = ask(forge())
    assert (answer.status_code, problems(answer)) == (401, [("invalid_token", None)])


def test_kid_of_another_type_is_refused(issuer: Issuer) -> None:
    for kid in (7, None, ["old"], {"a": 1}, True):
        head, payload, signature = token("old").split(".")
        raw = json.dumps({"alg": "RS256", "kid": kid}).encode()
        head = base64.urlsafe_b64encode(raw).rstrip(b"=").decode()
        assert ask(f"{head}.{payload}.{signature}").status_code == 401


def test_a_key_of_another_kind_is_refused(issuer: Issuer) -> None:
    curve = ec.generate_private_key(ec.SECP256R1()).public_key()
    other = json.loads(jwt.algorithms.ECAlgorithm.to_jwk(curve))
    issuer.keys = [{**other, "kid": "old", "use": "sig"}, public("new")]
    assert ask(token("old")).status_code == 401


OUTAGES = {
    "500": b"HTTP/1.0 500 Oops\r\n\r\n",
    "an HTML page": b"HTTP/1.0 200 OK\r\n\r\n<html>Maintenance</html>",
    "nothing": b"",
    "half a body": b"HTTP/1.0 200 OK\r\nContent-Length: 999\r\n\r\n{",
    "no keys": b'HTTP/1.0 200 OK\r\n\r\n{"keys": []}',
    "a list": b"HTTP/1.0 200 OK\r\n\r\n[]",
    "a redirect": b"HTTP/1.0 302 Found\r\nLocation: http://127.0.0.1:9/\r\n\r\n",
    "no text": b"HTTP/1.0 200 OK\r\n\r\n\xff\xfe\xfd",
}


def assert_unavailable(answer: HttpResponse) -> None:
    assert (answer.status_code, problems(answer)) == (503, [("unavailable", None)])
    assert answer["Retry-After"] == "1"


@pytest.mark.parametrize("raw", OUTAGES.values(), ids=OUTAGES)
def test_an_issuer_out_of_order_is_503(issuer: Issuer, raw: bytes) -> None:
    issuer.raw = raw
    assert_unavailable(ask(token("old")))
    assert_unavailable(ask(token("old")))
    assert issuer.asked == 1


def test_known_keys_open_while_the_issuer_is_out_of_order(
    issuer: Issuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jwks, "COOLDOWN_SECONDS", 0)
    authentication.token_backend.cache_clear()
    assert ask(token("old")).status_code == 200
    issuer.raw = b""
    assert ask(token("unknown", KEYS["forged"])).status_code == 503
    assert ask(token("old")).status_code == 200


def test_an_issuer_that_hangs_delays_a_burst_once(trust: Trust) -> None:
    """It takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        trust(f"http://127.0.0.1:{silent.getsockname()[1]}/jwks")
        backend = authentication.token_backend()

        def verify(n: int) -> float:
            started = time.monotonic()
            with pytest.raises(TokenBackendError) as refused:
                backend.decode(token(f"unknown-{n}", KEYS["forged"]))
            assert authentication._caused_by_outage(refused.value)
            return time.monotonic() - started

        with ThreadPoolExecutor(20) as pool:
            assert max(pool.map(verify, range(40))) < 3
        started = time.monotonic()
        assert_unavailable(ask(token("unknown", KEYS["forged"])))
        assert time.monotonic() - started < 0.5
