"""An issuer that hardly answers does not stop callers whose key is known."""

import os
import signal
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.chaos.servers import ISSUER, with_issuer
from tests.support.issuers import running
from tests.support.programs import wait_until
from tests.support.tokens import mint, private_key, public_jwk


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
