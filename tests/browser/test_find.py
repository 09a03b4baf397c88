from uuid import UUID

import pytest

from carts.models import Cart
from carts.models.cart_change import Author
from tests.browser.conftest import FIND, HEIGHTS, THE_LIST, Open, check, follow, sign_in
from tests.desk.conftest import item_page, marked, page_of
from tests.support.factories import CartFactory, ItemFactory

pytestmark = pytest.mark.django_db(transaction=True)


def test_an_id_and_an_order_are_copied(cart: Cart, desk: Open) -> None:
    page = desk()
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(page_of(cart))
    page.get_by_label("Copy the cart's id").click()
    page.get_by_role("status").get_by_text("Copied").wait_for()
    assert UUID(page.evaluate("navigator.clipboard.readText()")) == cart.pk
    page.get_by_role("button", name="Copy as text").click()
    page.get_by_role("button", name="Copied").wait_for()
    assert marked(page.evaluate("navigator.clipboard.readText()")).splitlines() == [
        *(f"Cart {cart.pk}", f"Customer: {cart.profile_key}", f"Restaurant: {cart.restaurant_key}"),
        *("2 × [Pizza Margherita]: 25.20 (12.60 each)", "+ [Extra mozzarella]: 1.25"),
        *(
            "+ [Olives]: 1.25",
            "[No basil]",
            "1 × [Cola]: 10.10",
            "Subtotal in EUR without fees and tip: 35.30",
        ),
        *(
            "Instructions for the kitchen: [Ring twice]",
            "Note on the customer's invoice: [Invoice to the office]",
        ),
    ]
    page.get_by_role("button", name="Copy as text").wait_for()
    plain = CartFactory(items=[ItemFactory(quantity=3)])
    page.goto(page_of(plain))
    page.get_by_role("button", name="Copy as text").click()
    page.get_by_role("button", name="Copied").wait_for()
    assert marked(page.evaluate("navigator.clipboard.readText()")).splitlines()[3:] == [
        *(
            "3 × [Pizza Margherita]: 30.30 (10.10 each)",
            "Subtotal in EUR without fees and tip: 30.30",
        ),
    ]


def test_the_way_back_keeps_what_was_searched_until_the_end_of_the_session(
    cart: Cart, desk: Open
) -> None:
    page = desk()
    page.get_by_text("Filters").click()
    page.get_by_label("Platform").fill("ios-app")
    page.get_by_label("Find a cart").fill("4711")
    page.keyboard.press("Enter")
    # No empty parameter stands in a link to share.
    searched = f"**{FIND}?q=4711&platform=ios-app"
    page.wait_for_url(searched)
    follow(page, "#result_list a", f"**{page_of(cart)}")
    page.goto(item_page(cart))
    page.get_by_role("link", name="Carts", exact=True).click()
    page.wait_for_url(searched)
    page.get_by_role("button", name="Log out").click()
    page.get_by_role("heading", name="You are logged out").wait_for()
    check(page, "signed-out")
    sign_in(page, "anna")
    page.goto(page_of(cart))
    page.get_by_role("link", name="Carts", exact=True).click()
    page.wait_for_url(THE_LIST)


@pytest.mark.parametrize("width", [1366, 390])
def test_several_carts_are_selected_and_left_without_a_question(
    cart: Cart, desk: Open, width: int
) -> None:
    CartFactory(items=[ItemFactory()])
    page = desk(width)
    page.goto(FIND)
    page.get_by_label("All of this page").check()
    assert page.locator("[name=cart]:checked").count() == 2
    check(page, f"selected-{width}")
    page.locator("#result_list").get_by_role("link").first.click()
    page.go_back()
    page.get_by_label("All of this page").check()
    page.get_by_role("button", name="Change channels").click()
    page.get_by_label("Fulfilment channel").fill("PICKUP")
    check(page, f"channels-{width}")
    page.get_by_role("button", name="Preview").click()
    page.get_by_role("button", name="Change 2 carts").wait_for()
    check(page, f"preview-{width}")
    page.get_by_role("button", name="Change 2 carts").click()
    page.get_by_text("Carts changed: 2.").wait_for()


@pytest.mark.parametrize("width", [1280, 1920])
def test_a_row_of_the_list_is_one_line(cart: Cart, desk: Open, width: int) -> None:
    names = ("Pizza Diavola con salame piccante", "شاورما دجاج", "חומוס", "Tagliatelle al ragù")
    many = [ItemFactory(display_name=name) for name in names]
    long = CartFactory(items=many, platform="W" * 50, restaurant_key=2**31 - 1)
    carts = Cart.objects.by(Author("staff", "anna", why="She called: it was wrong. " * 7))
    carts.change_cart(long.pk, {"note": "Ring"})
    long.refresh_from_db()
    long.close(outcome="ordered", reference="ORD-2026/4711-with-a-long-reference")
    carts.change_cart(cart.pk, {"note": "Ring"})
    page = desk(width)
    for query in ("", "?changed_by=anna"):
        page.goto(FIND + query)
        heights = page.locator("#result_list tbody tr").evaluate_all(HEIGHTS)
        assert len(heights) == 2
        assert max(heights) < 40
        for dishes in page.locator("#result_list tbody th").all():
            assert dishes.bounding_box()["width"] > 150
        check(page, f"list-{width}{bool(query)}")


def test_a_phone_shows_a_cart_of_the_list_in_few_lines(cart: Cart, desk: Open) -> None:
    page = desk(390)
    page.goto(FIND)
    [height] = page.locator("#result_list tbody tr").evaluate_all(HEIGHTS)
    assert height < 160


def test_a_key_leads_to_the_search_and_a_phone_does_not_zoom(cart: Cart, desk: Open) -> None:
    page = desk(390)
    page.goto(page_of(cart))
    page.keyboard.press("/")
    page.keyboard.type("1002 naan/")
    assert page.locator("#id_q").input_value() == "1002 naan/"
    page.goto(FIND)
    # Smaller, a phone would zoom in whenever one types.
    sizes = page.locator("input:not([type=hidden], [type=checkbox]), select").evaluate_all(
        "fields => fields.map(field => parseFloat(getComputedStyle(field).fontSize))"
    )
    assert min(sizes) >= 16
