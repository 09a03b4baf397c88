"""A token that was verified before is believed again: that one, and no longer than it lasts."""

import time

import pytest

from cartsvc.identity import issuer_keys
from tests.support.callers import Api
from tests.support.clock import Clock
from tests.support.issuers import published, verified_with
from tests.support.programs import wait_until
from tests.support.tokens import mint, private_key, public_jwk

pytestmark = pytest.mark.django_db


def ask(token: str) -> int:
    status: int = Api(token=token).get().status_code
    return status


def test_a_token_that_expires_meanwhile_is_refused() -> None:
    ends = int(time.time()) + 2
    with verified_with(LEEWAY=30):
        token = mint(exp=ends - 30)
        assert ask(token) == 200
        time.sleep(max(0, ends - time.time()))
        assert ask(token) == 401


def test_another_token_is_not_taken_for_it() -> None:
    token = mint()
    head, claims, signature = token.split(".")
    others = mint(sub="other").split(".")[1], "A" * len(signature)
    assert ask(token) == 200
    assert ask(f"{head}.{others[0]}.{signature}") == 401
    assert ask(f"{head}.{claims}.{others[1]}") == 401
    assert ask(f"{head}.{claims}.") == 401
    assert ask(token) == 200


def test_a_refused_token_stays_refused() -> None:
    for token in mint(key=b"x" * 64), mint(sub=""), mint(exp=1):
        assert [ask(token) for _ in range(2)] == [401] * 2


@pytest.mark.parametrize("fetched", ["for an unknown key", "because the keys are old"])
def test_a_token_of_a_withdrawn_key_dies_with_it(clock: Clock, fetched: str) -> None:
    def token(kid: str, number: int) -> str:
        return mint("RS256", key=private_key("RS256", number), headers={"kid": kid})

    old, new = token("old", 0), token("new", 1)
    with published(public_jwk("RS256", 0, kid="old")) as issuer:
        assert ask(old) == 200
        issuer.keys = [public_jwk("RS256", 1, kid="new")]
        clock.now += issuer_keys.COOLDOWN_SECONDS + 0.1
        assert ask(old) == 200
        if fetched == "for an unknown key":
            assert ask(new) == 503
        else:
            clock.now += issuer_keys.REFRESH_SECONDS
        wait_until(lambda: ask(old) == 401)
        assert ask(new) == 200
