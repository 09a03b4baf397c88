"""The page to try the API, as a newcomer uses it."""

import re

import pytest

from carts.models import CartItem
from carts.openapi.example_cart import example_cart
from tests.browser.conftest import LOOKS, Open, shoot
from tests.support.tokens import mint

pytestmark = pytest.mark.django_db(transaction=True)

IDS = "blocks => blocks.map(block => block.id.split('-').pop())"
BIG = 2**53 + 1  # the first integer that JavaScript rounds


@pytest.mark.parametrize(("width", "scheme"), LOOKS)
def test_a_cart_is_created_and_read_with_what_the_page_fills_in(
    open_page: Open, width: int, scheme: str
) -> None:
    page = open_page(width, scheme)
    page.goto("/docs")
    assert page.title() == "Cart Service API"
    page.locator("#operations-Carts-createCart").wait_for()
    listed = page.locator(".opblock-summary").all_inner_texts()
    assert [("Specified (Beta)" in text, "Extension" in text) for text in listed] == [
        (name in {"createCart", "updateItem"}, name not in {"createCart", "updateItem"})
        for name in page.locator(".opblock").evaluate_all(IDS)
    ]
    assert "Create Cart" in listed[0]
    page.get_by_role("button", name="Authorize").first.click()
    page.get_by_text("Paste the TOKEN that manage.py serve has printed").wait_for()
    shoot(page, f"docs-authorize-{width}-{scheme}")
    # As it stands in a terminal or a header: with its scheme.
    token = mint(profileKey=example_cart()["keys"]["profileKey"])
    page.locator(".auth-container input").fill(f"Bearer {token}")
    page.locator(".auth-container").get_by_role("button", name="Apply credentials").click()
    page.locator(".auth-container").get_by_role("button", name="Close").click()

    def executed(operation: str, tag: str = "Carts") -> str:
        opened = page.locator(f"#operations-{tag}-{operation}")
        opened.get_by_role("button").first.click()
        if operation == "createCart":
            opened.locator("textarea.body-param__text").wait_for()
        for body in opened.locator("textarea.body-param__text").all():
            body.fill(body.input_value().replace(": 42,", f": {BIG},"))
        opened.get_by_role("button", name="Execute").click()
        answer = opened.locator(".live-responses-table")
        answer.wait_for()
        return answer.inner_text()

    created = executed("createCart")
    assert "The cart was created." in created
    # The cart of the last answer stands in the fields of the next request, and so does its item.
    cart_id = re.search('"cartId": "(.{36})"', created)[1]
    found = executed("getCart")
    assert f'"cartId": "{cart_id}"' in found
    assert "The cart was found." in found
    assert f'"profileKey": "{example_cart()["keys"]["profileKey"]}"' in found
    assert f'"menuItemKey": {BIG},' in found

    assert "The cart was changed." in executed("changeCart")
    item_id = re.search('"itemId": "(.{36})"', found)[1]
    for operation, said in (
        ("addItem", "The item was added."),
        ("updateItem", "The item was updated."),
        ("changeItem", "The item was changed."),
        ("removeItem", "The item was removed."),
    ):
        assert said in executed(operation, "Items")
    assert [str(item.pk) for item in CartItem.objects.all()] == [item_id]
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
