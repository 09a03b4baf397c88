"""A token that was verified a moment ago is believed again: that one, and no longer than it."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from cartsvc.api import verified
from cartsvc.api.authentication import VERIFIED, BearerToken
from cartsvc.api.verified import VerifiedTokens
from cartsvc.identity import issuer_keys
from tests.support.callers import Api
from tests.support.clock import Clock
from tests.support.issuers import published, verified_with
from tests.support.programs import wait_until
from tests.support.tokens import mint, private_key, public_jwk


@pytest.fixture(autouse=True)
def nothing_kept(db: None) -> Iterator[None]:
    VERIFIED.entries.clear()
    yield
    VERIFIED.entries.clear()


@pytest.fixture
def verifications(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The tokens that were verified, one by one."""
    tokens: list[str] = []
    verify = BearerToken.__init__

    def counted(self: BearerToken, token: Any = None, *args: Any) -> None:
        tokens.append(token)
        verify(self, token, *args)

    monkeypatch.setattr(BearerToken, "__init__", counted)
    return tokens


def ask(token: str) -> int:
    status: int = Api(token=token).get().status_code
    return status


def test_a_token_is_verified_once_a_minute(clock: Clock, verifications: list[str]) -> None:
    token = mint()
    assert [ask(token) for _ in range(3)] == [200] * 3
    clock.now += verified.MAX_SECONDS - 1
    assert ask(token) == 200
    assert verifications == [token]
    clock.now += 1
    assert ask(token) == 200
    assert verifications == [token] * 2


def test_a_token_that_expires_while_it_is_kept_is_refused() -> None:
    ends = int(time.time()) + 2
    with verified_with(LEEWAY=30):
        token = mint(exp=ends - 30)
        assert ask(token) == 200
        time.sleep(max(0, ends - time.time()))
        assert ask(token) == 401


def test_another_token_is_not_taken_for_one_that_is_kept(verifications: list[str]) -> None:
    token = mint()
    head, claims, signature = token.split(".")
    others = mint(sub="other").split(".")[1], "A" * len(signature)
    assert ask(token) == 200
    assert ask(f"{head}.{others[0]}.{signature}") == 401
    assert ask(f"{head}.{claims}.{others[1]}") == 401
    assert ask(f"{head}.{claims}.") == 401
    assert ask(token) == 200
    assert len(verifications) == 4


def test_what_a_kept_token_may_not_do_stays_refused() -> None:
    reader = mint(scope="Cart.Read")
    assert [Api(token=reader).post("", {}).status_code for _ in range(2)] == [403] * 2
    assert Api(token=mint()).post("", {}).status_code == 400


def test_a_refused_token_is_verified_each_time(verifications: list[str]) -> None:
    refused = [mint(key=b"x" * 64), mint(sub=""), mint(exp=1)]
    for token in refused:
        assert [ask(token) for _ in range(2)] == [401] * 2
    assert len(verifications) == 6
    assert VERIFIED.entries == {}


def test_another_configuration_of_keys_verifies_anew() -> None:
    token = mint()
    assert ask(token) == 200
    with verified_with(SIGNING_KEY="another key of at least 32 characters"):
        assert ask(token) == 401


def test_a_token_of_a_withdrawn_key_dies_with_it(clock: Clock) -> None:
    def token(kid: str, number: int) -> str:
        return mint("RS256", key=private_key("RS256", number), headers={"kid": kid})

    old, new = token("old", 0), token("new", 1)
    with published(public_jwk("RS256", 0, kid="old")) as issuer:
        assert ask(old) == 200
        issuer.keys = [public_jwk("RS256", 1, kid="new")]
        clock.now += issuer_keys.COOLDOWN_SECONDS + 0.1
        assert ask(old) == 200
        # An unknown key id makes the service fetch the keys.
        wait_until(lambda: ask(new) == 200)
        assert ask(old) == 401


def test_old_keys_are_fetched_anew_though_all_tokens_are_kept(clock: Clock) -> None:
    token = mint("RS256", headers={"kid": "old"})
    with published(public_jwk("RS256", kid="old")) as issuer:
        clock.now += 1
        assert ask(token) == 200
        clock.now += issuer_keys.REFRESH_SECONDS - 1
        assert ask(token) == 200
        issuer.keys = [public_jwk("RS256", kid="new")]
        clock.now += 2
        ask(token)
        while issuer.asked < 2:
            time.sleep(0.01)
        deadline = time.time() + 10
        while ask(token) == 200 and time.time() < deadline:
            time.sleep(0.01)
        assert ask(token) == 401


def test_so_many_are_kept_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verified, "MOST", 10)
    tokens, keys, ends = VerifiedTokens[int](), object(), time.time() + 9
    for number in range(15):
        tokens.keep(str(number), number, keys, ends)
    assert len(tokens.entries) == 10
    assert [tokens.get(str(number), keys) for number in (4, 5, 14)] == [None, 5, 14]


def test_nothing_is_kept_of_the_tokens_themselves() -> None:
    token = mint()
    assert ask(token) == 200
    assert token not in repr(VERIFIED.entries)


def test_threads_keep_within_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verified, "MOST", 5)
    tokens, keys = VerifiedTokens[int](), object()

    def keep(thread: int) -> None:
        for number in range(2000):
            name = str(number % 20)
            tokens.keep(name, number % 20, keys, time.time() + 9)
            assert tokens.get(name, keys) in (None, number % 20)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(keep, range(8)))
    assert len(tokens.entries) == 5
