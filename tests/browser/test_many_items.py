"""A cart of 200 items, and the menu's keys in a form, which are seldom what is corrected."""

import pytest

from carts.models import Cart
from tests.browser.conftest import Open, check, tab_to
from tests.desk.conftest import add_page, big_cart, item_page, page_of
from tests.support.factories import CartFactory, ItemFactory

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("width", [1366, 390])
def test_a_filter_leads_to_one_of_200_items(cart: Cart, desk: Open, width: int) -> None:
    several = [ItemFactory(display_name=f"Dish {n}") for n in range(199)]
    last = ItemFactory(display_name="Pizza Diavola", special_instructions="No onions")
    large = CartFactory(items=[*several, last])
    page = desk(width)
    page.goto(page_of(large))
    tab_to(page, "#items-with")
    page.keyboard.type("ONIONS diavola")
    page.get_by_role("status").get_by_text("1 of 200 items").wait_for()
    shown = page.locator(".order tbody:visible")
    assert shown.locator("th").all_inner_texts() == ["Pizza Diavola"]
    check(page, f"filtered-{width}")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Correct Pizza Diavola").wait_for()
    page.get_by_role("link", name="Remove it").click()
    page.get_by_role("heading", name="Remove Pizza Diavola?").wait_for()


def test_of_many_items_all_are_printed(cart: Cart, desk: Open) -> None:
    page = desk()
    page.goto(page_of(big_cart(26, 0)))
    page.locator("#items-with").fill("nothing is called so")
    assert page.locator(".order tbody:visible").count() == 0
    page.emulate_media(media="print")
    assert page.locator(".order tbody:visible").count() == 26


def test_the_menus_keys_are_folded_until_they_are_asked_for_or_missed(
    cart: Cart, desk: Open
) -> None:
    page = desk()
    page.goto(item_page(cart))
    page.locator("input:focus").wait_for()
    stops = 0
    while not page.evaluate("document.activeElement.matches('#id_why')"):
        page.keyboard.press("Tab")
        stops += 1
    # Price, instructions, three of each of two options, two of a new one, and the button.
    assert stops <= 13
    assert not page.locator("#id_menu_key").is_visible()
    check(page, "folded-keys")
    page.get_by_label("Show the menu's keys").check()
    assert page.locator("#id_menu_key").is_visible()
    assert page.locator("#id_options-0-option_set_key").is_visible()
    # What is missing shows.
    page.locator("#id_menu_key").fill("")
    page.get_by_label("Show the menu's keys").uncheck()
    page.get_by_role("button", name="Save").click()
    page.locator("#id_menu_key:focus").wait_for()
    page.locator("#id_menu_key").fill("DINNER")
    page.get_by_label("Show the menu's keys").uncheck()
    page.locator("#id_options-2-display_name").fill("Capers")
    page.get_by_role("button", name="Save").click()
    page.locator("#id_options-2-option_set_key[aria-invalid]").wait_for()
    check(page, "missed-keys")
    page = desk()
    page.goto(add_page(cart))
    assert page.locator("#id_menu_key").is_visible()
