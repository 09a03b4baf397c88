"""The error catalogue in carts/README.md matches the declared problems word for word."""

import pytest

from cartsvc.api.problems import PROBLEM_TYPES, declare
from tests.support.catalogue import README, renewed


def test_the_readme_has_the_catalogue() -> None:
    text = README.read_text()

    assert renewed(text) == text, "run: python -m tests.support.catalogue"


def test_a_code_is_declared_once() -> None:
    before = dict(PROBLEM_TYPES)

    with pytest.raises(ValueError, match="null is declared twice"):
        declare("null", 400, "Again.", meaning="Again.", remedy="None.")

    assert before == PROBLEM_TYPES
