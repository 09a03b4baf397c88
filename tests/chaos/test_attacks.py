"""The worst of `tests.chaos.attacks`, shortly: the honest caller is answered all along."""

import json

import pytest

from tests.chaos.attacks import Caller, honest, prepared, tried
from tests.chaos.hostile import LARGE, Target
from tests.chaos.servers import SIGNING_KEY, Service

# What a bad or large body may get. A body that is refused before it is read may get none.
LAWFUL = {"200", "400", "503", "none"}


@pytest.fixture(scope="module")
def target(on_postgres: Service) -> Target:
    return prepared(Target(on_postgres.port, {"key": SIGNING_KEY}))


@pytest.mark.parametrize(
    "name",
    [
        "bad bodies, 500 items of 100 empty options",
        "lawful bodies, 500 items of 10 options",
        "numbers of 300 digits",
    ],
)
def test_an_attack_keeps_nobody_from_an_answer(target: Target, name: str) -> None:
    result = tried(name, target, 2)

    assert result.answers
    assert set(result.answers) <= LAWFUL
    for seen in (result.before, result.during, result.after):
        assert seen.waits
        assert not seen.refused
    # No turn and no thread is kept: as many large bodies as there are threads pass again.
    large = target.request("POST", target.carts, json.dumps(LARGE).encode())
    assert [Caller(target, kept=False).ask(large)[0] for _ in range(8)] == ["200"] * 8
    assert not honest(target, 0.5).refused
