"""The page to try the API, as a newcomer uses it."""

import re

import pytest

from carts.openapi.example_cart import example_cart
from tests.browser.conftest import LOOKS, Open, shoot
from tests.support.tokens import mint

pytestmark = pytest.mark.django_db(transaction=True)

BIG = 2**53 + 1  # the first integer that JavaScript rounds


@pytest.mark.parametrize(("width", "scheme"), LOOKS)
def test_a_cart_is_created_and_read_with_what_the_page_fills_in(
    open_page: Open, width: int, scheme: str
) -> None:
    page = open_page(width, scheme)
    page.goto("/docs")
    assert page.title() == "Cart Service API"
    page.get_by_role("button", name="Authorize").first.click()
    # As it stands in a terminal or a header: with its scheme.
    token = mint(profileKey=example_cart()["keys"]["profileKey"])
    page.locator(".auth-container input").fill(f"Bearer {token}")
    page.locator(".auth-container").get_by_role("button", name="Apply credentials").click()
    page.locator(".auth-container").get_by_role("button", name="Close").click()

    def executed(operation: str, **typed: str) -> str:
        opened = page.locator(f"#operations-Carts-{operation}")
        opened.get_by_role("button").first.click()
        if operation == "createCart":
            opened.locator("textarea.body-param__text").wait_for()
        for body in opened.locator("textarea.body-param__text").all():
            body.fill(body.input_value().replace(": 42,", f": {BIG},"))
        for name, value in typed.items():
            opened.locator(f"input[placeholder={name}]").fill(value)
        opened.get_by_role("button", name="Execute").click()
        answer = opened.locator(".live-responses-table")
        answer.wait_for()
        return answer.inner_text()

    created = executed("createCart")
    assert "The cart was created." in created
    cart_id = re.search('"cartId": "(.{36})"', created)[1]
    found = executed("getCart", cartId=cart_id)
    assert "The cart was found." in found
    assert f'"profileKey": "{example_cart()["keys"]["profileKey"]}"' in found
    assert f'"menuItemKey": {BIG},' in found

    shoot(page, f"docs-{width}-{scheme}")


def test_the_page_is_as_dark_as_the_system(open_page: Open) -> None:
    page = open_page()
    page.goto("/docs")
    page.locator("#operations-Carts-createCart").wait_for()
    for scheme, text in (("light", "rgb(59, 65, 81)"), ("dark", "rgb(228, 230, 230)")):
        page.emulate_media(color_scheme=scheme)  # while the page is open, as at dusk
        page.wait_for_function(
            "text => getComputedStyle(document.querySelector('.swagger-ui')).color === text",
            arg=text,
        )
