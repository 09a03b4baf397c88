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


BEFORE = "title => getComputedStyle(title, '::before').content"


def test_a_slip_prints_alone_and_in_black_on_white(cart: Cart, open_page: Open) -> None:
    page = open_page(scheme="dark")
    sign_in(page, "anna")
    page.goto(page_of(cart))
    page.evaluate("print = () => { printed = document.body.cloneNode().dataset.print; }")
    for name, slip in (("Print the docket", "docket"), ("Print the slip", "slip")):
        page.emulate_media(media="screen")
        page.get_by_role("button", name=name).click()
        assert page.evaluate("printed") == slip
        assert page.evaluate("document.body.dataset.print") is None
        page.evaluate("slip => { document.body.dataset.print = slip; }", slip)
        page.emulate_media(media="print")
        shoot(page, f"print-{slip}")
        shown = page.locator("main :visible").evaluate_all("all => all.map(each => each.id)")
        assert [each for each in shown if each in {"docket", "slip"}] == [slip]
        # A kitchen must not cook twice.
        assert page.locator(f"#{slip} .title").evaluate(BEFORE) == '"COPY · "'
        assert page.locator(f"#{slip} p").last.inner_text() == f"Cart {cart.pk}"
        assert not page.locator(".facts, h1, .timeline, h3").locator("visible=true").count()
        page.evaluate("delete document.body.dataset.print")
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
