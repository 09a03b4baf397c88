from collections.abc import Callable
from typing import Any

import pytest

from tests.browser.conftest import SCREENSHOTS
from tests.support.callers import PROFILE
from tests.support.tokens import mint

pytestmark = pytest.mark.django_db(transaction=True)


def test_an_operation_is_tried_on_the_page(open_page: Callable[..., Any]) -> None:
    page = open_page()
    page.goto("/docs")
    page.get_by_role("button", name="Authorize").first.click()
    page.locator(".auth-container input").fill(mint())
    page.locator(".auth-container").get_by_role("button", name="Apply credentials").click()
    page.get_by_role("button", name="Close").click()
    page.locator("#operations-Carts-createCart").get_by_role("button").first.click()
    created = page.locator("#operations-Carts-createCart")
    created.locator("input[placeholder=profileKey]").fill(str(PROFILE))
    created.get_by_role("button", name="Execute").click()
    created.locator(".live-responses-table").wait_for()
    page.screenshot(path=SCREENSHOTS / "docs.png", full_page=True)

    assert "The cart was created." in created.locator(".live-responses-table").inner_text()
