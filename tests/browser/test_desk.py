import re
from decimal import Decimal
from typing import Any, cast
from uuid import UUID

import pytest
from django.contrib.admin.models import ADDITION, CHANGE, LogEntry
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from uuid_utils.compat import uuid7

from carts.models import Cart
from carts.models.change import Author
from carts.templatetags.desk import CONTROLS
from tests.browser.conftest import (
    FIND,
    LOOKS,
    THE_LIST,
    Open,
    check,
    complained,
    shoot,
    sign_in,
)
from tests.desk.conftest import (
    PASSWORD,
    add_page,
    big_cart,
    correct_page,
    delete_page,
    item_of,
    item_page,
    items,
    member,
    page_of,
    put_back_page,
    remove_page,
)
from tests.support.factories import CartFactory, ItemFactory, OptionFactory, new_item

pytestmark = pytest.mark.django_db(transaction=True)

HOSTILE = (
    "<script>alert(1)</script>",
    "{{ user.password }}{% debug %}",
    "\u202eolleh\u2069\u2069 שלום",
    "🍕👨‍👩‍👧‍👦𝔘" * 8,
    "</pre><!--",
    "'\"><img src=x onerror=alert(1)>",
    "W" * 100,
)


@pytest.fixture
def cart(db: None) -> Cart:
    member("anna", "Cart support lead")
    cart: Any = CartFactory(
        note="Invoice to the office",
        special_instructions="Ring twice",
        items=[
            ItemFactory(
                special_instructions="No basil",
                options=[OptionFactory(), OptionFactory(display_name="Olives")],
            ),
            ItemFactory(display_name="Cola", quantity=1),
        ],
    )
    return cast("Cart", cart)


@pytest.fixture
def desk(cart: Cart, open_page: Open) -> Open:
    """Open the desk in a browser, signed in."""

    def open_desk(width: int = 1280) -> Any:
        page = open_page(width)
        sign_in(page, "anna")
        return page

    return open_desk


def test_the_second_of_two_editors_decides_anew(cart: Cart, desk: Open, open_page: Open) -> None:
    page = desk()
    page.goto(item_page(cart))
    page.get_by_label("Quantity").fill("7")
    cart.items.first().change(quantity=5)
    page.get_by_role("button", name="Save").click()
    assert "quantity 2 → 5" in page.get_by_role("alert").first.inner_text()
    check(page, "conflict")
    page.get_by_role("button", name="Replace it with this").click()
    page.wait_for_url(f"**{item_of(cart)}")
    assert items(cart)[0]["quantity"] == 7
    complained(open_page, 409)


def tab_to(page: Any, selector: str) -> None:
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate(f"document.activeElement.matches({selector!r})"):
            outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
            shadow = page.evaluate("getComputedStyle(document.activeElement).boxShadow")
            assert (outline, shadow) != ("none", "none"), f"{selector} does not show its focus"
            return
    pytest.fail(f"Tab does not reach {selector}")


def follow(page: Any, selector: str, url: Any) -> None:
    """Reach the link or button by the keyboard, press it, and wait for the page it leads to."""
    tab_to(page, selector)
    page.keyboard.press("Enter")
    page.wait_for_url(url)


def replace_by(page: Any, selector: str, text: str) -> None:
    tab_to(page, selector)
    page.keyboard.press("Control+a")
    page.keyboard.type(text)


# Where a slip's own rows begin, and where each row of a caller's text in it does, in pixels.
EDGES = """slip => [slip.querySelector("hr").getBoundingClientRect().left, ...Array.from(
  slip.querySelectorAll("p:not(.priced) bdi, .priced > span > bdi"),
  text => Array.from(text.getClientRects(), row => row.left)).flat()]"""
WEIGHTS = "texts => texts.map(text => getComputedStyle(text).fontWeight)"
HEIGHTS = "prices => prices.map(price => price.getBoundingClientRect().height)"


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
        for number in range(2):
            page.get_by_role("button", name="Another option").click()
            page.get_by_label("Name").last.fill(f"Extra {number}")
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
        assert (str(item["quantity"]), names[-2:]) == (quantity, ["Extra 0", "Extra 1"])
        assert len(names) == before + 1
        assert cart.changes.last().why == "She called"
    page.goto(item_page(cart))
    assert page.get_by_label("Quantity").input_value() == quantity
    assert not page.get_by_text("What you typed").is_visible()


CONTRAST_AND_ROOM = """(input) => {
  const brightness = (colour) => {
    const [red, green, blue] = colour.match(/[\\d.]+/g).map((value) => {
      const part = value / 255;
      return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const style = getComputedStyle(input), hint = getComputedStyle(input, "::placeholder");
  const [darker, brighter] = [style.backgroundColor, hint.color].map(brightness).sort();
  const pen = document.createElement("canvas").getContext("2d");
  pen.font = style.font;
  const room = input.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
  return [(brighter + 0.05) / (darker + 0.05), room - pen.measureText(input.placeholder).width];
}"""


@pytest.mark.parametrize(("width", "scheme"), LOOKS)
def test_every_page_at_every_size(cart: Cart, open_page: Open, width: int, scheme: str) -> None:
    for _ in range(3):
        CartFactory(items=[ItemFactory(with_option=True)])
    cart.items.last().replace(**ItemFactory(display_name="Lemonade"))
    LogEntry.objects.log_actions(
        User.objects.get().pk, [cart], CHANGE, "Item “Cola”: quantity 1 → 2. Why: “She called”"
    )
    LogEntry.objects.create(
        user=User.objects.get(),
        content_type=LogEntry.objects.get().content_type,
        object_id=cart.pk,
        object_repr=f"version 2 of {cart}",
        action_flag=ADDITION,
        change_message="Note: “Called, promised a refund”",
    )
    gone = CartFactory()
    Cart.objects.by(Author("bearer", "partner-app", "request-1")).delete_cart(gone.pk)
    look = f"{width}-{scheme}"
    page = open_page(width, scheme)
    page.goto(FIND)
    check(page, f"sign-in-{look}")
    sign_in(page, "anna")
    for name, path in {
        "find": FIND,
        "filters": f"{FIND}?platform=ios-app&currency=ZZZ",
        "start": "/admin/",
        "cart": page_of(cart),
        "item": item_page(cart),
        "add": add_page(cart),
        "remove": remove_page(cart),
        "put-back": put_back_page(cart),
        "correct": correct_page(cart),
        "delete": delete_page(cart),
        "log": f"{page_of(cart)}?staff",
        "gone": f"{FIND}{gone.pk}/history/",
        "activity": f"{FIND}activity/",
        "note": f"{FIND}{cart.pk}/note/",
    }.items():
        page.goto(path)
        check(page, f"{name}-{look}")
        contrast, room = page.locator("#id_q").evaluate(CONTRAST_AND_ROOM)
        assert contrast >= 4.5
        assert room >= 0
        for button in page.locator("button:visible, summary:visible, #user-tools a").all():
            # Large enough for a finger.
            assert button.bounding_box()["height"] >= 24, button.inner_text()
    page.goto(page_of(cart))
    again, remove = page.locator(".tools .actions a").all()[1:3]
    boxes = again.bounding_box(), remove.bounding_box()
    assert boxes[1]["x"] - boxes[0]["x"] - boxes[0]["width"] >= 30


@pytest.mark.parametrize("width", [1280, 390])
def test_the_largest_cart_shows_whole(cart: Cart, desk: Open, width: int) -> None:
    large = big_cart(200, 5)
    page = desk(width)
    page.goto(item_of(large, 199))
    assert page.locator(".order tbody:target").is_visible()
    assert "… and 100 more items" in page.locator("#docket").inner_text()
    check(page, f"largest-cart-{width}")


@pytest.mark.parametrize("width", [1280, 390])
def test_hostile_text_shows_as_text_and_breaks_no_layout(
    cart: Cart, desk: Open, width: int
) -> None:
    hostile = CartFactory(
        partner_key="WWWW",
        platform="W" * 50,
        ordering_channel="<b>" * 16,
        fulfilment_channel="W" * 50,
        note="W" * 300,
        special_instructions="\u202e" + "W" * 299,
        items=[
            ItemFactory(
                display_name=text,
                special_instructions=(text * 30)[:300],
                options=[OptionFactory(display_name=text)],
            )
            for text in HOSTILE
        ],
    )
    Cart.objects.add_item(hostile.pk, uuid7(), new_item(display_name="W" * 100))
    page = desk(width)
    check(page, f"hostile-find-{width}")
    page.goto(page_of(hostile))
    check(page, f"hostile-cart-{width}")
    shown = page.locator("table.order").inner_text()
    for text in HOSTILE:
        assert text.translate(CONTROLS) in shown
    for slip in page.locator(".slip").all():
        assert slip.evaluate("slip => slip.scrollWidth - slip.clientWidth") <= 0
    page.get_by_role("link", name="Correct").nth(5).click()
    check(page, f"hostile-item-{width}")
    page.goto(remove_page(hostile))
    check(page, f"hostile-remove-{width}")


# The left edges of these texts, in pixels, within the last element that holds all of them.
LEFTS = """texts => {
  const holds = element => texts.every(text => element.textContent.includes(text));
  const line = [...document.querySelectorAll("main *")].filter(holds).at(-1);
  const nodes = document.createTreeWalker(line, NodeFilter.SHOW_TEXT), lefts = new Map();
  while (nodes.nextNode()) {
    for (const text of texts) {
      const start = nodes.currentNode.data.indexOf(text), range = document.createRange();
      if (start < 0 || lefts.has(text)) continue;
      range.setStart(nodes.currentNode, start);
      range.setEnd(nodes.currentNode, start + text.length);
      lefts.set(text, range.getBoundingClientRect().left);
    }
  }
  return texts.map(text => lefts.get(text));
}"""


@pytest.mark.parametrize("around", ["", "\u202e", "\u2069\u202e", "\u2067"])
def test_what_is_written_from_right_to_left_turns_no_line_around(
    cart: Cart, desk: Open, open_page: Open, around: str
) -> None:
    old, new = f"{around}شاورما", f"{around}فلافل 7"
    item = ItemFactory(display_name=old, special_instructions=old, quantity=3, with_option=True)
    cart = CartFactory(items=[item, ItemFactory(display_name=f"{new}7")])
    page = desk()

    def lefts(*texts: str) -> None:
        found = page.evaluate(LEFTS, list(texts))
        assert found == sorted(found), (page.url, texts)

    page.goto(f"{FIND}?q={cart.restaurant_key}")
    lefts("3\xa0×", "شاورما", "2\xa0×", "فلافل")
    for path in (delete_page(cart), remove_page(cart)):
        page.goto(path)
        lefts("3 × ", "شاورما", "10.10" if path == delete_page(cart) else "34.05")
    page.goto(item_page(cart))
    page.get_by_label("Instructions for the kitchen").fill(new)
    page.get_by_label("Name").first.fill(new)
    page.get_by_role("button", name="Save").click()
    page.wait_for_url(f"**{item_of(cart)}")
    lefts("Item “", "شاورما", "”: name “", "” → “", "”; instructions")
    lefts("instructions for the kitchen “", "شاورما", "” → “", "فلافل")
    for sheet in ("#docket", "#slip"):
        assert page.locator(sheet).is_visible()
    page.goto(f"{page_of(cart)}?staff")
    lefts("Item “", "شاورما", "”: name “", "” → “", "”; instructions")
    page.goto(item_page(cart))
    page.get_by_label("Name").first.fill("Calzone")
    cart.items.first().change(display_name=old)
    page.get_by_role("button", name="Save").click()
    lefts("name “", "فلافل", "” → “", "شاورما")
    lefts("The item is now: ", "3 × ", "شاورما", "10.10")
    complained(open_page, 409)


def test_a_caller_writes_no_second_slip_and_breaks_no_price(cart: Cart, desk: Open) -> None:
    forged = f"x\n{'=' * 42}\n{' ' * 14}KITCHEN DOCKET\n{'-' * 42}"
    item = ItemFactory(display_name="W" * 100, price="1234567.1234", special_instructions=forged)
    cart = CartFactory(items=[item], note=forged, special_instructions=forged)
    page = desk(390)
    page.goto(page_of(cart))
    slips = page.locator(".slip").all()
    for slip in slips:
        edge, *rows = slip.evaluate(EDGES)
        # Every row of a caller's text begins to the right of where a title's or a rule's may.
        assert min(rows) - edge > 20
        assert slip.locator(".text").inner_text().splitlines()[2] == "KITCHEN DOCKET"
        assert {*slip.locator("bdi").evaluate_all(WEIGHTS)} == {"400"}
    heights = slips[1].locator(".priced > span:last-child").evaluate_all(HEIGHTS)
    assert len(heights) == 3
    assert max(heights) < 20  # one row


def test_an_id_and_an_order_are_copied(cart: Cart, desk: Open) -> None:
    page = desk()
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(page_of(cart))
    page.get_by_label("Copy the cart's id").click()
    page.get_by_role("status").get_by_text("Copied").wait_for()
    assert UUID(page.evaluate("navigator.clipboard.readText()")) == cart.pk
    page.get_by_role("button", name="Copy as text").click()
    page.get_by_role("button", name="Copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()").splitlines() == [
        *(f"Cart {cart.pk}", f"Customer: {cart.profile_key}", f"Restaurant: {cart.restaurant_key}"),
        *("2 × Pizza Margherita: 25.20 (12.60 each)", "+ Extra mozzarella: 1.25"),
        *("+ Olives: 1.25", "No basil", "1 × Cola: 10.10", "Subtotal in EUR: 35.30"),
        *(
            "Instructions for the kitchen: Ring twice",
            "Note on the customer's invoice: Invoice to the office",
        ),
    ]
    page.get_by_role("button", name="Copy as text").wait_for()
    plain = CartFactory(items=[ItemFactory(quantity=3)])
    page.goto(page_of(plain))
    page.get_by_role("button", name="Copy as text").click()
    page.get_by_role("button", name="Copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()").splitlines()[3:] == [
        *("3 × Pizza Margherita: 30.30 (10.10 each)", "Subtotal in EUR: 30.30"),
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


EDGES_OF_PAGE = """Array.from(document.querySelectorAll(
  "#site-name, .breadcrumbs a:first-child, h1, .facts"), part => part.getClientRects()[0].left)"""


@pytest.mark.parametrize("width", [1366, 1920])
def test_header_and_content_begin_at_the_same_edge(cart: Cart, desk: Open, width: int) -> None:
    page = desk(width)
    page.goto(page_of(cart))
    edges = {*page.evaluate(EDGES_OF_PAGE)}
    assert len(edges) == 1
    for path in ("auth/user/", "auth/user/add/", "password_change/"):
        page.goto(f"/admin/{path}")
        assert {*page.evaluate(EDGES_OF_PAGE)} == edges, path


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
        assert not page.locator(".facts, h1, .timeline, h3").locator("visible=true").count()
        page.evaluate("delete document.body.dataset.print")
    colours = "[getComputedStyle(document.body).color, getComputedStyle(document.body).background]"
    text, ground = page.evaluate(colours)
    assert (text, ground[:18]) == ("rgb(0, 0, 0)", "rgb(255, 255, 255)")


@pytest.mark.parametrize(("width", "scheme"), LOOKS)
@pytest.mark.parametrize("outcome", ["checkout", "ordered", "abandoned"])
def test_a_closed_cart(open_page: Open, cart: Cart, width: int, scheme: str, outcome: str) -> None:
    [pizza, *_] = cart.items.all()
    cart.add_items([ItemFactory(display_name=name) for name in ("Soup", "שלום")])
    cart.replace_items([ItemFactory(display_name="Wine"), {"id": pizza.pk, **ItemFactory()}])
    cart.close(outcome=outcome, reference="ORD-2026/4711")
    page = open_page(width, scheme)
    sign_in(page, "anna")
    name = f"{outcome}-{width}-{scheme}"
    check(page, f"list-{name}")
    page.goto(page_of(cart))
    check(page, name)
    page.get_by_role("link", name="Reopen").click()
    check(page, f"reopen-{name}")
    page.get_by_label("Why").fill("Paid twice")
    page.get_by_role("button", name="Reopen the cart").click()
    page.get_by_role("link", name="Put it back").first.click()
    check(page, f"put-items-back-{name}")
    assert Cart.objects.get().state.status == "open"


@pytest.mark.parametrize("width", [1366, 390, 320])
@pytest.mark.parametrize("path", ["auth/user/", "auth/user/add/", "password_change/"])
def test_django_pages_have_the_header_of_the_desk(desk: Open, width: int, path: str) -> None:
    page = desk(width)
    page.goto(f"/admin/{path}")
    shoot(page, f"{path.replace('/', '-')}{width}")
    assert page.locator("#site-name a").bounding_box()["x"] >= 0


@pytest.mark.parametrize("width", [390, 320])
@pytest.mark.parametrize(("currency", "price"), [("IDR", 1250000), ("EUR", 104)])
def test_a_phone_shows_a_whole_cart(desk: Open, width: int, currency: str, price: int) -> None:
    option = OptionFactory(currency=currency)
    item = ItemFactory(
        currency=currency,
        price=price,
        quantity=10,
        display_name="Nasi Goreng Spesial",
        options=[option],
    )
    page = desk(width)
    page.goto(page_of(CartFactory(currency=currency, items=[item])))
    shoot(page, f"{currency}-{width}")
    for shown in (".tools .danger", "tfoot td"):
        if (shown, currency, width) == ("tfoot td", "IDR", 320):
            continue  # The table scrolls.
        box = page.locator(shown).bounding_box()
        assert box["x"] + box["width"] <= width - 16, shown
    heights = page.locator("#slip .inner > span:first-child").evaluate_all(HEIGHTS)
    assert max(heights) < 40  # two rows, with no word broken


# The left edges of the first and the last row of each text of several rows, in pixels.
FIRST_AND_LAST = """texts => texts.map(text => Array.from(text.getClientRects(), row => row.left))
  .filter(rows => rows.length > 1).map(rows => [rows[0], rows.at(-1)])"""


@pytest.mark.parametrize("width", [1280, 390])
def test_instructions_of_several_rows_keep_their_indent(desk: Open, width: int) -> None:
    cart = CartFactory(items=[ItemFactory(special_instructions="No olives\nCut in 4")])
    cart.items.get().remove()
    cart.add_items([ItemFactory(special_instructions="No olives\nCut in 4")])
    page = desk(width)
    for path in (page_of(cart), delete_page(cart)):
        page.goto(path)
        texts = page.locator(".lines bdi, .details bdi").evaluate_all(FIRST_AND_LAST)
        assert texts
        for first, last in texts:
            # A quote stands before the first.
            assert 0 <= first - last < 10, path


def test_no_empty_row_stands_before_a_long_word(desk: Open) -> None:
    cart = CartFactory(items=[ItemFactory(special_instructions="Z" * 280)])
    page = desk(1366)
    page.goto(delete_page(cart))
    item, text = (line.bounding_box() for line in page.locator(".lines li").all())
    first = page.locator(".lines bdi").last.evaluate("text => text.getClientRects()[0].top")
    assert abs(first - text["y"]) < 5
    # It is indented below its item.
    left = page.locator(".lines bdi").last.evaluate("text => text.getClientRects()[0].left")
    assert 10 < left - item["x"] < 40


@pytest.mark.parametrize("outcome", ["open", "checkout"])
def test_no_fact_of_a_cart_stands_alone(cart: Cart, desk: Open, outcome: str) -> None:
    cart.items.last().remove()
    if outcome == "checkout":
        cart.close(outcome=outcome, reference="PAY-2026-11-26-000123")
    page = desk(1366)
    page.goto(page_of(cart))
    tops = [fact.bounding_box()["y"] for fact in page.locator(".facts dt").all()]
    assert len({*tops[1:]}) == 1


def test_a_long_message_leaves_the_page_in_sight(cart: Cart, desk: Open) -> None:
    cart.items.first().change(options=[OptionFactory() for _ in range(60)])
    page = desk(390)
    page.goto(f"{add_page(cart)}?like={items(cart)[0]['item_id']}")
    page.get_by_role("button", name="Save").click()
    page.wait_for_url(f"**{page_of(cart)}*")
    assert page.locator(".messagelist").bounding_box()["height"] < 100
    check(page, "long-message-390")


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


def test_a_box_to_select_a_cart_stands_beside_its_date(cart: Cart, desk: Open) -> None:
    big_cart(4, 0)
    page = desk(1366)
    for row in page.locator("#result_list tbody tr").all():
        box, date = (row.locator(part).bounding_box() for part in ("[name=cart]", "time"))
        assert date["x"] > box["x"]
        assert abs(date["y"] - box["y"]) < 10
    shoot(page, "boxes-1366")


def test_the_blank_option_stands_below_the_others(cart: Cart, desk: Open) -> None:
    page = desk()
    page.goto(item_page(cart))
    page.get_by_role("button", name="Another option").click()
    rows = page.locator("#options .option-row").all()
    assert len(rows) == 4
    for name in ("price", "option_set_item_key"):
        boxes = [row.locator(f".field-{name} input").bounding_box() for row in rows]
        assert len({(box["x"], box["width"]) for box in boxes}) == 1


def test_the_ring_around_a_field_leaves_its_label_free(cart: Cart, desk: Open) -> None:
    page = desk()
    page.goto(item_page(cart))
    for name in ("quantity", "special_instructions", "options-0-price", "why"):
        tab_to(page, f"#id_{name}")
        label, field = page.locator(f"label[for=id_{name}]"), page.locator(f"#id_{name}")
        above, box = label.bounding_box(), field.bounding_box()
        assert box["y"] - above["y"] - above["height"] > 4  # as far as the ring reaches
