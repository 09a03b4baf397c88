"""The declared problems, which carts/README.md lists."""

import pytest

from cartsvc.errors import REFUSALS, Refusal
from tests.support.catalogue import README, renewed


def test_the_readme_has_the_catalogue() -> None:
    text = README.read_text()

    assert renewed(text) == text, "run: python -m tests.support.catalogue"


def test_a_code_is_declared_once() -> None:
    before = dict(REFUSALS)

    with pytest.raises(TypeError, match="null is declared twice"):
        type("Null", (Refusal,), {"text": "Again."})

    assert before == REFUSALS
