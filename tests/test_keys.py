"""The keys that verify tokens: RS256 and ES256, as a public key or behind a JWKS URL."""

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

import jwt
import pytest

from tests import payloads
from tests.conftest import Api, error, problems
from tests.tokens import claims, pem, private_key, sign, verified_with


def call(token: str) -> Any:
    api = Api()
    api.client.defaults["HTTP_AUTHORIZATION"] = f"Bearer {token}"
    return api.post(body=payloads.cart())


def jwk(algorithm: str, kid: str, number: int = 0) -> dict[str, Any]:
    key = private_key(algorithm, number).public_key()
    found: dict[str, Any] = jwt.get_algorithm_by_name(algorithm).to_jwk(key, as_dict=True)
    return {**found, "kid": kid, "use": "sig", "alg": algorithm}


class Issuer(BaseHTTPRequestHandler):
    """Serves the keys of a token issuer."""

    answer: ClassVar[bytes]
    asked: ClassVar[int]

    def do_GET(self) -> None:
        type(self).asked += 1
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(self.answer)

    def log_message(self, *args: object) -> None:
        """Keep quiet."""


@pytest.fixture
def issuer() -> Iterator[str]:
    Issuer.asked = 0
    Issuer.answer = json.dumps({"keys": [jwk("RS256", "old", 1), jwk("RS256", "new")]}).encode()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Issuer)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/jwks"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize("algorithm", ["RS256", "RS512", "PS256", "ES256"])
def test_a_public_key_verifies(db: None, algorithm: str) -> None:
    with verified_with(ALGORITHM=algorithm, VERIFYING_KEY=pem(algorithm)):
        assert call(sign(claims(), algorithm)).status_code == 200
        assert call(sign(claims(), algorithm, key=1)).status_code == 401


def test_keys_are_fetched_once_and_chosen_by_their_id(db: None, issuer: str) -> None:
    with verified_with(ALGORITHM="RS256", JWK_URL=issuer):
        for _ in range(3):
            assert call(sign(claims(), "RS256", kid="new")).status_code == 200
            assert call(sign(claims(), "RS256", key=1, kid="old")).status_code == 200
    assert Issuer.asked == 1


def test_refuses_tokens_of_other_keys(unchanged: Callable[[], None], issuer: str) -> None:
    with verified_with(ALGORITHM="RS256", JWK_URL=issuer):
        for token in (
            sign(claims(), "RS256", kid="old"),
            sign(claims(), "RS256", key=2, kid="new"),
            sign(claims(), "RS256", kid="unknown"),
            sign(claims(), "RS256", kid=""),
            sign(claims(), "RS256"),
            sign(claims(), "HS256", kid="new"),
            sign(claims(), "ES256", kid="new"),
        ):
            response = call(token)
            assert response.status_code == 401
            assert response.json() == error(
                "invalid_token", "The bearer token is not valid here, or has expired."
            )
    # A flood of unknown ids does not become a flood of requests to the issuer.
    assert Issuer.asked <= 2


def test_an_issuer_that_cannot_be_reached_is_an_outage(unchanged: Callable[[], None]) -> None:
    with verified_with(ALGORITHM="RS256", JWK_URL="http://127.0.0.1:1/jwks"):
        response = call(sign(claims(), "RS256", kid="new"))

    assert response.status_code == 503
    assert response.json() == error(
        "unavailable", "The keys that verify tokens cannot be fetched right now."
    )
    assert response["Retry-After"] == "1"
    assert "WWW-Authenticate" not in response


@pytest.mark.parametrize("answer", [b"", b"<html>", b"{}", b"[]", b'{"keys": []}', b"null"])
def test_an_issuer_that_answers_nonsense_verifies_nobody(
    unchanged: Callable[[], None], issuer: str, answer: bytes
) -> None:
    Issuer.answer = answer
    with verified_with(ALGORITHM="RS256", JWK_URL=issuer):
        response = call(sign(claims(), "RS256", kid="new"))

    assert problems(response) == [("unavailable", None)]
