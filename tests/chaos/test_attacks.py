"""The worst of `tests.chaos.attacks`, shortly: the honest caller is answered all along."""

import json
from collections.abc import Iterator

import pytest

from tests.chaos.attacks import prepared
from tests.chaos.hostile import LARGE, Target
from tests.chaos.servers import RAISED, SIGNING_KEY, service
from tests.chaos.trial import Caller, honest, tried
from tests.support.clusters import Cluster

# What a bad or large body may get. A body that is refused before it is read may get none.
LAWFUL = {"200", "400", "503", "none", "held"}


@pytest.fixture(scope="module")
def target(cluster: Cluster) -> Iterator[Target]:
    with service(cluster.url(), **RAISED) as server:
        yield prepared(Target(server.port, {"key": SIGNING_KEY}))


@pytest.mark.parametrize(
    "name",
    [
        "bad bodies, 500 items of 100 empty options",
        "lawful bodies, 500 items of 10 options",
        "numbers of 300 digits",
        "stalled heads, 64",
        "stalled bodies, and reads of the largest cart",
    ],
)
def test_an_attack_keeps_nobody_from_an_answer(target: Target, name: str) -> None:
    result = tried(name, target, 2)

    assert result.answers
    assert set(result.answers) <= LAWFUL
    for seen in (result.before, result.during, result.after):
        assert seen.waits
        assert not seen.refused
    # No thread is kept: as many large bodies as there are threads pass again.
    large = target.request("POST", target.carts, json.dumps(LARGE).encode())
    assert [Caller(target, kept=False).ask(large)[0] for _ in range(8)] == ["200"] * 8
    assert not honest(target, 0.5).refused
