"""An issuer that hardly answers does not stop callers whose key is known."""

import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import requests

from tests.chaos.servers import ISSUER, with_issuer
from tests.support.issuers import running
from tests.support.programs import wait_until
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
        assert issuer.asked in (2, 3, 4)  # once at the start, then once in five seconds
        print(f"\n{len(waits)} answers to others, {max(waits):.2f} s at most")
        assert max(waits) < 1


@pytest.mark.parametrize("born", ["at the start", "after a crash", "after SIGHUP"])
def test_a_worker_is_born_with_the_keys_of_now(born: str) -> None:
    with (
        running(public_jwk("RS256", 1, kid="withdrawn")) as issuer,
        with_issuer(issuer.url, WEB_CONCURRENCY="1") as server,
    ):
        issuer.keys = [public_jwk("RS256", kid="known")]
        (first,) = server.workers()
        if born == "at the start":
            server.restart()
        elif born == "after a crash":
            os.kill(first, signal.SIGKILL)
        else:
            server.process.send_signal(signal.SIGHUP)
        wait_until(lambda: len(server.workers()) == 1 and first not in server.workers())
        wait_until(server.is_up)
        assert issuer.asked == 2
        issuer.pause = 1  # nobody can be waiting for it
        callers = [server.caller() for _ in range(16)]
        for number, caller in enumerate(callers):
            withdrawn = private_key("RS256", 1)
            caller.token = token("known") if number else token("withdrawn", withdrawn)
        with ThreadPoolExecutor(16) as pool:
            answers = list(pool.map(lambda caller: caller.get(), callers))
        assert [answer.status_code for answer in answers] == [401] + [200] * 15
        assert issuer.asked == 2


def token(kid: str, key: Any = None) -> str:
    return mint("RS256", key=key or private_key("RS256"), headers={"kid": kid}, iss=ISSUER)


def seconds(call: Any) -> float:
    started = time.monotonic()
    assert call().status_code == 200
    return time.monotonic() - started
