import re
from decimal import Decimal
from typing import Any

import pytest

from carts.models import Cart
from tests.browser.conftest import THE_LIST, Open, follow, tab_to
from tests.desk.conftest import item_of, items, page_of
from tests.support.factories import ItemFactory

pytestmark = pytest.mark.django_db(transaction=True)


def replace_by(page: Any, selector: str, text: str) -> None:
    tab_to(page, selector)
    page.keyboard.press("Control+a")
    page.keyboard.type(text)


def type_at_focus(page: Any, text: str) -> None:
    """Wait until the page has set the focus, which may be after it has loaded. Then type."""
    page.locator("input:focus").wait_for()
    page.keyboard.type(text)


def test_the_keyboard_alone_does_it(cart: Cart, open_page: Open) -> None:
    page = open_page()
    page.goto("/admin/")
    type_at_focus(page, "anna")
    page.keyboard.press("Tab")
    page.keyboard.type("correct horse battery")
    page.keyboard.press("Enter")
    page.wait_for_url(THE_LIST)
    type_at_focus(page, cart.partner_key)
    page.keyboard.press("Enter")
    page.wait_for_url("**?q=*")
    tab_to(page, "summary")
    follow(page, "#result_list a", f"**{page_of(cart)}")
    tab_to(page, "#header #id_q")
    page.keyboard.type(f"{cart.restaurant_key} cola")
    page.keyboard.press("Enter")
    page.wait_for_url("**?q=*cola")
    page.get_by_text("1 × Cola").wait_for()
    page.go_back()
    for reached in ("#docket", "#slip", "[aria-labelledby=history-heading] > p a"):
        tab_to(page, reached)
    for sheet, shown, hidden in (
        ("#docket", ["+ Olives", "! No basil", "Ring twice"], ["10.10", "Invoice"]),
        ("#slip", ["+ Olives", "25.20", "Invoice to the office"], ["basil", "Ring"]),
    ):
        text = page.locator(sheet).inner_text()
        assert [word for word in shown if word not in text] == []
        assert [word for word in hidden if word in text] == []
    assert "JST" in page.locator(".facts").inner_text()
    page.reload()
    tab_to(page, ".tools summary")
    page.keyboard.press("Enter")
    tab_to(page, ".tools button.copy")
    page.reload()
    follow(page, ".tools a", "**/items/**")
    replace_by(page, "#id_quantity", "4")
    tab_to(page, "#id_options-0-DELETE")
    page.keyboard.press("Space")
    tab_to(page, "#add-option")
    page.keyboard.press("Enter")
    for typed in ("Capers", "1", "501", "77"):
        type_at_focus(page, typed)
        page.keyboard.press("Tab")
    follow(page, "form.item-form button[type=submit]", f"**{item_of(cart)}")
    item = items(cart)[0]
    assert item["quantity"] == 4
    assert [(option["display_name"], option["price"]) for option in item["options"]] == [
        ("Olives", Decimal("1.25")),
        ("Capers", Decimal(1)),
    ]


def test_the_keyboard_alone_undoes_repeats_changes_and_deletes(cart: Cart, desk: Open) -> None:
    before = items(cart)
    first, second = before[0]["item_id"], before[1]["item_id"]
    cart.items.get(pk=first).replace(**ItemFactory(display_name="Calzone"))
    cart.items.get(pk=second).remove()
    page = desk()
    page.goto(page_of(cart))
    history = page.locator(".timeline").inner_text()
    for text in ("“No basil” → nothing", "2 × Pizza Margherita, 10.10", "+ Olives", "1 × Cola"):
        assert text in history
    for name in ("Correct Calzone", "Again Calzone", "Remove Calzone"):
        assert page.get_by_role("link", name=name, exact=True).count() == 1

    for version, item_id in ((3, second), (2, first)):
        page.goto(page_of(cart))
        follow(page, f".undo a[href$='/before/{version}/']", f"**/before/{version}/")
        tab_to(page, "#id_why")
        page.keyboard.type("The caller changed her mind")
        page.keyboard.press("Enter")
        page.wait_for_url(f"**#item-{item_id}")
    assert items(cart) == before
    why = r"Why: Put back as before \d.+: The caller changed her mind"
    assert re.search(why, page.locator(".timeline").inner_text())

    follow(page, f"a[href$='/add/?like={second}']", "**/add/?like=*")
    replace_by(page, "#id_quantity", "6")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**{page_of(cart)}")
    assert [(item["display_name"], item["quantity"]) for item in items(cart)[1:]] == [
        ("Cola", 1),
        ("Cola", 6),
    ]

    follow(page, "a[href$='/correct/']", "**/correct/")
    replace_by(page, "#id_note", "Thanks")
    follow(page, "button[type=submit].default", f"**{page_of(cart)}")
    assert Cart.objects.get().note == "Thanks"

    follow(page, "a[href$='/delete/']", "**/delete/")
    tab_to(page, "#id_why")
    page.keyboard.type("A test order")
    follow(page, "button.danger", THE_LIST)
    assert f"Cart {cart.pk} deleted." in page.locator(".messagelist").inner_text()
    assert not Cart.objects.exists()
