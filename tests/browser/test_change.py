from typing import Any

import pytest
from django.contrib.sessions.models import Session

from carts.models import Cart
from tests.browser.conftest import FIND, Open, check, complained
from tests.desk.conftest import (
    PASSWORD,
    add_page,
    big_cart,
    correct_page,
    item_of,
    item_page,
    items,
    member,
    page_of,
)
from tests.support.factories import CartFactory, ItemFactory, OptionFactory

pytestmark = pytest.mark.django_db(transaction=True)


def test_leaving_a_form_asks_only_when_something_was_typed(
    cart: Cart, desk: Open, open_page: Open
) -> None:
    page = desk()
    asked: list[str] = []

    def leave(answer: str) -> None:
        def decide(dialog: Any) -> None:
            asked.append(dialog.type)
            getattr(dialog, answer)()

        page.once("dialog", decide)
        page.get_by_role("link", name="Cancel").click()

    page.goto(item_page(cart))
    page.get_by_label("Quantity").click()
    page.get_by_role("link", name="Cancel").click()
    page.wait_for_url(f"**{item_of(cart)}")
    page.goto(item_page(cart))
    page.get_by_label("Quantity").press_sequentially("7")
    leave("dismiss")
    assert page.get_by_label("Quantity").input_value() == "72"
    # A form that comes back is not saved yet.
    page.get_by_label("Quantity").fill("0")
    page.get_by_role("button", name="Save").click()
    page.locator(".errornote").wait_for()
    page.get_by_label("Quantity").click()
    leave("accept")
    page.wait_for_url(f"**{item_of(cart)}")
    assert asked == ["beforeunload"] * 2
    page.goto(item_page(cart))
    page.get_by_label("Quantity").fill("5")
    page.get_by_role("button", name="Save").click()
    page.wait_for_url(f"**{item_of(cart)}")
    assert items(cart)[0]["quantity"] == 5
    # The page's own notes of the two dialogs, and of no third.
    assert len(open_page.complaints) == 2
    open_page.complaints.clear()


def test_a_save_that_was_stopped_can_be_sent_again(cart: Cart, desk: Open, open_page: Open) -> None:
    page = desk()
    page.clock.install()
    page.goto(item_page(cart))
    page.get_by_label("Quantity").fill("7")
    page.route("**/items/**", lambda route: route.abort("aborted"), times=1)
    page.get_by_role("button", name="Save").click()
    page.locator("form[data-sent]").wait_for()
    page.clock.fast_forward(5_000)
    # Leaving asks again as well.
    page.once("dialog", lambda dialog: dialog.dismiss())
    page.get_by_role("link", name="Cancel").click()
    page.get_by_role("button", name="Save").click()
    page.wait_for_url(f"**{item_of(cart)}")
    assert items(cart)[0]["quantity"] == 7
    assert len(open_page.complaints) == 1  # that of the dialog
    open_page.complaints.clear()


def test_what_was_typed_outlives_the_session(cart: Cart, desk: Open, open_page: Open) -> None:
    page = desk()

    def enter(user: str = "anna") -> None:
        page.get_by_label("Username").fill(user)
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Log in").click()

    for lose in (Session.objects.all().delete, page.context.clear_cookies):
        page.goto(item_page(cart))
        page.get_by_label("Quantity").fill(quantity := str(items(cart)[0]["quantity"] + 5))
        page.locator("#id_options-0-DELETE").check()
        extras = [f"Extra {quantity}-{number}" for number in range(2)]
        for number, name in enumerate(extras):
            page.get_by_role("button", name="Another option").click()
            page.get_by_label("Name").last.fill(name)  # a new one, which fills in no price
            page.get_by_label("Price").last.fill("1")
            page.get_by_label("Option set key").last.fill("7")
            page.get_by_label("Option set item key").last.fill(f"{number}")
        page.get_by_label("Why").fill("She called")
        lose()
        page.get_by_role("button", name="Save").click()
        if lose == page.context.clear_cookies:
            # Without its cookie, the form is refused before anybody asks who sends it.
            page.get_by_role("link", name="Open the form again").click()
            complained(open_page, 403)
        else:
            page.get_by_text("Your session has ended. Nothing was saved.").wait_for()
            check(page, "session-ended")
        enter("nobody")
        page.locator("p.errornote").wait_for()
        enter()
        page.get_by_text("What you typed is here again. It is not saved yet.").wait_for()
        check(page, "typed-again")
        before = len(items(cart)[0]["options"])
        page.get_by_role("button", name="Save").click()
        page.wait_for_url(f"**{item_of(cart)}")
        item = items(cart)[0]
        names = [option["display_name"] for option in item["options"]]
        assert (str(item["quantity"]), names[-2:]) == (quantity, extras)
        assert len(names) == before + 1
        assert cart.changes.last().why == "She called"
    page.goto(item_page(cart))
    assert page.get_by_label("Quantity").input_value() == quantity
    assert not page.get_by_text("What you typed").is_visible()


def test_what_was_typed_and_searched_is_not_for_who_logs_in_next(cart: Cart, desk: Open) -> None:
    page = desk()
    member("zoe", "Cart support lead")

    def leave_and_enter(name: str) -> None:
        page.goto(f"{FIND}?q=naan")
        page.goto(item_page(cart))
        page.get_by_label("Quantity").fill("7")
        page.get_by_label("Why").fill("She called")
        Session.objects.all().delete()
        page.get_by_role("button", name="Save").click()
        page.get_by_label("Username").fill(name)
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Log in").click()
        page.wait_for_url(lambda url: "login" not in url)

    leave_and_enter("zoe")
    quantity, why = page.get_by_label("Quantity"), page.get_by_label("Why")
    assert (quantity.input_value(), why.input_value()) == ("2", "")
    assert not page.get_by_text("What you typed").is_visible()
    searched = "link => link.search"
    assert page.locator("#found").evaluate(searched) == ""
    for _ in range(2):
        page.go_back()
    page.wait_for_url(f"**{item_page(cart)}")
    assert (quantity.input_value(), why.input_value()) == ("2", "")
    page.get_by_role("link", name="Cancel").click()  # nothing was typed: it does not ask
    page.wait_for_url(f"**{page_of(cart)}**")
    # It is back for oneself alone, and only after one has left.
    leave_and_enter("zoe")
    page.get_by_text("What you typed is here again. It is not saved yet.").wait_for()
    assert (quantity.input_value(), why.input_value()) == ("7", "She called")
    assert page.locator("#found").evaluate(searched) == "?q=naan"
    page.get_by_role("button", name="Save").click()
    page.wait_for_url(f"**{item_of(cart)}")
    assert (cart.changes.latest("version").author.name, cart.changes.count()) == ("zoe", 1)


def test_back_and_save_adds_no_second_item(cart: Cart, desk: Open) -> None:
    page = desk()
    page.goto(page_of(cart))
    page.get_by_role("link", name="Again").first.click()
    page.get_by_role("button", name="Save").click()
    page.wait_for_url(f"**{page_of(cart)}")
    page.go_back()
    page.get_by_role("button", name="Save").click()
    page.get_by_text("This form was saved before. It was not saved again.").wait_for()
    assert len(items(cart)) == 3
    page.get_by_role("link", name="Again").first.click()
    page.get_by_role("button", name="Save").click()
    page.get_by_text("Item added").wait_for()
    assert len(items(cart)) == 4


@pytest.mark.parametrize("width", [1366, 390])
def test_a_success_is_seen_where_the_item_is(cart: Cart, desk: Open, width: int) -> None:
    large, page = big_cart(40, 3), desk(width)
    page.goto(item_page(large, 30))
    page.get_by_label("Quantity").fill("7")
    page.get_by_role("button", name="Save").click()
    page.wait_for_url(f"**{item_of(large, 30)}")
    said = page.get_by_text("The subtotal is now").bounding_box()
    corrected = page.locator("tbody:target").bounding_box()
    assert said["y"] >= 0
    assert said["y"] + said["height"] <= corrected["y"] < 800
    check(page, f"success-{width}")


def test_a_chosen_dish_fills_the_form(cart: Cart, desk: Open) -> None:
    margherita = CartFactory(items=[ItemFactory(display_name="Calzone", price=7)]).items.get()
    page = desk()
    page.goto(add_page(cart))
    assert page.get_by_label("Quantity").input_value() == "1"
    page.keyboard.type("Calzone")
    page.keyboard.press("Tab")
    assert page.get_by_label("Menu item key").input_value() == str(margherita.menu_item_key)
    page.get_by_role("button", name="Another option").click()
    page.get_by_label("Name").last.fill("Olives")
    page.keyboard.press("Tab")
    assert page.get_by_label("Price").last.input_value() == "1.25"
    check(page, "chosen")
    page.get_by_role("button", name="Save").click()
    page.get_by_text("Item added: 1 × Calzone, 7.00; + Olives, 1.25.").wait_for()


def test_a_second_click_does_not_send_the_form_again(cart: Cart, desk: Open) -> None:
    page = desk()
    page.goto(item_page(cart))
    # Stay on the page, as while the server is working.
    page.evaluate(
        """sent = 0;
        document.addEventListener("submit", (event) => {
          if (!event.defaultPrevented) sent += 1;
          event.preventDefault();
        });"""
    )
    page.get_by_role("button", name="Save").dblclick()
    assert page.evaluate("sent") == 1
    # Shown again by the back button, the form can be sent.
    page.evaluate("dispatchEvent(new PageTransitionEvent('pageshow', {persisted: true}))")
    page.get_by_role("button", name="Save").click()
    assert page.evaluate("sent") == 2


@pytest.mark.parametrize("width", [1280, 390])
def test_the_first_wrong_field_has_the_focus(cart: Cart, desk: Open, width: int) -> None:
    page = desk(width)
    page.goto(item_page(cart))
    page.get_by_label("Quantity").fill("0")
    page.get_by_role("group", name="Option 2").get_by_label("Price").fill("9,5,0")
    page.get_by_role("button", name="Save").click()
    page.locator("#id_quantity:focus").wait_for()
    check(page, f"wrong-fields-{width}")
    red, border = page.evaluate(
        """[getComputedStyle(document.querySelector(".errorlist")).color,
            getComputedStyle(document.getElementById("id_options-1-price")).borderColor]"""
    )
    assert red == border


def test_without_its_script_the_form_offers_no_dead_button(cart: Cart, desk: Open) -> None:
    page = desk()
    page.route("**/desk*.js", lambda route: route.fulfill(body="", content_type="text/javascript"))
    page.goto(item_page(cart))
    assert not page.locator("#add-option").is_visible()


def test_a_long_message_leaves_the_page_in_sight(cart: Cart, desk: Open) -> None:
    cart.items.first().change(options=[OptionFactory() for _ in range(60)])
    page = desk(390)
    page.goto(f"{add_page(cart)}?like={items(cart)[0]['item_id']}")
    page.get_by_role("button", name="Save").click()
    page.wait_for_url(f"**{page_of(cart)}*")
    assert page.locator(".messagelist").bounding_box()["height"] < 100
    check(page, "long-message-390")


def test_a_pasted_text_is_not_cut(cart: Cart, desk: Open) -> None:
    """A browser counts an emoji as two characters, and cuts a text that is too long in silence."""
    page = desk()
    page.goto(correct_page(cart))
    note = page.get_by_label("Note on the customer's invoice")
    for count, told in ((301, "it has 301."), (300, "Cart: note on the customer's invoice")):
        note.fill("")
        page.keyboard.insert_text("🍕" * count)
        page.get_by_role("button", name="Save").click()
        page.get_by_text(told).first.wait_for()
    assert Cart.objects.get().note == "🍕" * 300
    page.get_by_label("Find a cart").click()
    page.keyboard.insert_text(f"Dear colleagues, {'this is about ' * 20} {cart.pk}")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**{page_of(cart)}")


COMES_TO_THE_FRONT = "document.dispatchEvent(new Event('visibilitychange'))"


@pytest.mark.parametrize("width", [1366, 390])
def test_an_open_page_says_that_its_cart_has_changed(
    cart: Cart, desk: Open, open_page: Open, width: int
) -> None:
    page = desk(width)
    page.goto(item_of(cart, 1))
    notice = page.get_by_role("status").get_by_text(
        "This cart has changed since the page was opened."
    )
    with page.expect_response(f"**{page_of(cart)}") as same:
        page.evaluate(COMES_TO_THE_FRONT)
    assert same.value.status == 304
    assert not notice.is_visible()
    cart.change(note="Ring twice, please")
    page.evaluate("scrollTo(0, 400)")
    page.evaluate(COMES_TO_THE_FRONT)
    notice.wait_for()
    assert 0 <= notice.bounding_box()["y"] < 850  # in sight
    check(page, f"changed-{width}")
    complained(open_page, 412)
    page.get_by_role("link", name="Reload").click()
    page.get_by_text("Ring twice, please").first.wait_for()
    assert not notice.is_visible()
