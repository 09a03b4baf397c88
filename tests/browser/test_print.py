import pytest

from carts.models import Cart
from tests.browser.conftest import Open, shoot, sign_in
from tests.desk.conftest import big_cart, page_of

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_cart_prints_whole_and_without_controls(cart: Cart, desk: Open) -> None:
    large = big_cart(100, 5)
    page = desk()
    page.goto(page_of(large))
    page.emulate_media(media="print")
    shoot(page, "print")
    for hidden in ("#header", ".breadcrumbs", ".copy", ".order .tools", "a.button"):
        assert not page.locator(hidden).first.is_visible(), hidden
    for shown in ("table.order", "#slip", ".timeline"):
        assert page.locator(shown).first.is_visible(), shown
    cut = page.evaluate("docket.scrollHeight - docket.clientHeight")
    assert cut <= 0
    inside = "getComputedStyle(document.querySelector('.order tbody')).breakInside"
    assert page.evaluate(inside) == "avoid"


def test_the_slips_print_as_copies_in_black_on_white(cart: Cart, open_page: Open) -> None:
    page = open_page(scheme="dark")
    sign_in(page, "anna")
    page.goto(page_of(cart))
    page.emulate_media(media="print")
    # A kitchen must not cook twice.
    before = "titles => titles.map(title => getComputedStyle(title, '::before').content)"
    assert page.locator(".slip .title").evaluate_all(before) == ['"COPY · "'] * 2
    colours = "[getComputedStyle(document.body).color, getComputedStyle(document.body).background]"
    text, ground = page.evaluate(colours)
    assert (text, ground[:18]) == ("rgb(0, 0, 0)", "rgb(255, 255, 255)")


def test_what_leads_elsewhere_is_not_printed(cart: Cart, desk: Open) -> None:
    cart.change(note="Ring twice")
    page = desk(1366)
    page.emulate_media(media="print")
    assert page.locator(".count").inner_text().strip() == "1 cart"
    page.goto(page_of(cart))
    printed = page.get_by_role("main").inner_text()
    assert "Changed" in printed
    for words in ("Add an item", "Staff only", "ago ·", "ago\nHistory", "Details"):
        assert words not in printed, words
