"""Verifying tokens with RS256 and ES256, by a public key or a JWKS URL."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.support import bodies
from tests.support.answers import error
from tests.support.callers import Api
from tests.support.issuers import Issuer, published, verified_with
from tests.support.tokens import mint, private_key, public_jwk, public_pem


def call(token: str) -> Any:
    return Api(token=token).post(body=bodies.cart())


@pytest.fixture
def issuer(db: None) -> Iterator[Issuer]:
    with published(public_jwk("RS256", 1, kid="old"), public_jwk("RS256", kid="new")) as running:
        yield running


@pytest.mark.parametrize("algorithm", ["RS256", "RS512", "PS256", "ES256"])
def test_a_public_key_verifies(db: None, algorithm: str) -> None:
    with verified_with(ALGORITHM=algorithm, VERIFYING_KEY=public_pem(algorithm)):
        assert call(mint(algorithm)).status_code == 200
        assert call(mint(algorithm, key=private_key(algorithm, 1))).status_code == 401


def test_keys_are_fetched_once_and_chosen_by_their_id(issuer: Issuer) -> None:
    old = private_key("RS256", 1)
    for _ in range(3):
        assert call(mint("RS256", headers={"kid": "new"})).status_code == 200
        assert call(mint("RS256", key=old, headers={"kid": "old"})).status_code == 200
    assert issuer.asked == 1


def test_refuses_tokens_of_other_keys(unchanged: Callable[[], None], issuer: Issuer) -> None:
    for token in (
        mint("RS256", headers={"kid": "old"}),
        mint("RS256", key=private_key("RS256", 2), headers={"kid": "new"}),
        mint("RS256", headers={"kid": "unknown"}),
        mint("RS256", headers={"kid": ""}),
        mint("RS256"),
        mint("HS256", headers={"kid": "new"}),
        mint("ES256", headers={"kid": "new"}),
    ):
        response = call(token)
        assert response.status_code == 401
        assert response.json() == error("invalid_token", "The bearer token is not valid here.")
    # A flood of unknown key ids does not cause a flood of requests to the issuer.
    assert issuer.asked <= 2


def test_an_issuer_that_cannot_be_reached_is_an_outage(unchanged: Callable[[], None]) -> None:
    with verified_with(ALGORITHM="RS256", JWK_URL="http://127.0.0.1:1/jwks"):
        response = call(mint("RS256", headers={"kid": "new"}))

    assert response.status_code == 503
    assert response.json() == error(
        "unavailable", "The keys that verify tokens cannot be fetched right now."
    )
    assert response["Retry-After"] == "1"
    assert "WWW-Authenticate" not in response
