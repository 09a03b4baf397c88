"""The declared errors, which carts/README.md lists."""

import pytest

from cartsvc.request_errors import API_ERRORS, ApiError
from tests.support.catalogue import README, renewed


def test_the_readme_has_the_catalogue() -> None:
    text = README.read_text()

    assert renewed(text) == text, "run: python -m tests.support.catalogue"


def test_a_code_is_declared_once() -> None:
    before = dict(API_ERRORS)

    with pytest.raises(TypeError, match="null is declared twice"):
        type("Null", (ApiError,), {"text": "Again."})

    assert before == API_ERRORS
