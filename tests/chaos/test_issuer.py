"""An issuer that hardly answers does not stop callers whose key is known."""

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import requests

from tests.chaos.servers import ISSUER, with_issuer
from tests.support.issuers import running
from tests.support.tokens import mint, private_key, public_jwk


def test_unknown_keys_at_an_issuer_that_drips() -> None:
    with (
        running(public_jwk("RS256", kid="known")) as issuer,
        with_issuer(issuer.url, WEB_CONCURRENCY="1") as server,
    ):
        honest = server.caller()
        honest.token = token("known")
        assert honest.get().status_code == 200
        issuer.pause = 1
        time.sleep(5)  # the issuer is not asked again any sooner
        until = time.monotonic() + 8

        def attack(number: int) -> set[int]:
            """Send one token after another, each with an unknown key id."""
            caller = server.caller()
            caller.token = token(f"unknown-{number}")
            statuses = set()
            while time.monotonic() < until:
                statuses.add(caller.get().status_code)
                time.sleep(0.1)
            return statuses

        with ThreadPoolExecutor(10) as pool:
            attacks = [pool.submit(attack, number) for number in range(10)]
            waits = []
            while time.monotonic() < until:
                waits += [
                    seconds(honest.get),
                    seconds(lambda: requests.get(f"{server.url}/healthz", timeout=10)),
                ]
                time.sleep(0.05)
        assert set().union(*(attacked.result() for attacked in attacks)) <= {401, 503}
        assert issuer.asked in (3, 4)  # once at the start, then once in five seconds
        print(f"\n{len(waits)} answers to others, {max(waits):.2f} s at most")
        assert max(waits) < 1


def test_the_first_requests_find_the_keys_known() -> None:
    with (
        running(public_jwk("RS256", kid="known")) as issuer,
        with_issuer(issuer.url) as server,
    ):
        issuer.pause = 1
        callers = [server.caller() for _ in range(16)]
        for caller in callers:
            caller.token = token("known")
        with ThreadPoolExecutor(16) as pool:
            answers = list(pool.map(lambda caller: caller.get(), callers))
        assert [answer.status_code for answer in answers] == [200] * 16
        assert issuer.asked == 1


def token(kid: str) -> str:
    return mint("RS256", key=private_key("RS256"), headers={"kid": kid}, iss=ISSUER)


def seconds(call: Any) -> float:
    started = time.monotonic()
    assert call().status_code == 200
    return time.monotonic() - started
