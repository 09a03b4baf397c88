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


def test_the_page_fits_a_telephone(open_page: Callable[..., Any]) -> None:
    page = open_page(width=390)
    page.goto("/docs")
    page.locator(".opblock").first.wait_for()

    for operation in page.locator(".opblock").all():
        operation.locator(".opblock-summary-control").click()
        operation.locator(".responses-table .response").first.wait_for()
        overflow = page.evaluate("document.scrollingElement.scrollWidth - innerWidth")
        assert overflow <= 0, operation.get_attribute("id")
        for part in operation.locator("select, .parameters input").all():
            assert part.bounding_box()["width"] >= 150, operation.get_attribute("id")
        operation.locator(".opblock-summary-control").click()
