"""The declared errors, which carts/README.md lists."""

import re

import pytest

from cartsvc.request_errors import API_ERRORS, ApiError
from tests.support.error_catalogue import README, renewed


def test_the_readme_has_the_catalogue() -> None:
    text = README.read_text()

    assert renewed(text) == text, "run: python -m tests.support.error_catalogue"


# What a text is made of beside facts, or what a header tells: Allow, Accept-Patch, Retry-After.
WORDS = {
    *("wanted", "sent", "plural", "name", "code_point", "named", "when", "taken", "seconds"),
    "parts",
}


def test_every_fact_of_a_text_stands_beside_it() -> None:
    for error in API_ERRORS.values():
        assert {*re.findall(r"%\((\w+)\)", error.text)} - WORDS <= {*error.facts}, error


def test_a_code_is_declared_once() -> None:
    before = dict(API_ERRORS)

    with pytest.raises(TypeError, match="null is declared twice"):
        type("Null", (ApiError,), {"text": "Again."})

    assert before == API_ERRORS
