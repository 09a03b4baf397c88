import pytest
from django.contrib.admin.models import ADDITION
from django.contrib.auth.models import User

from carts.models import Cart
from carts.models.cart_change import Author
from tests.browser.conftest import FIND, HEIGHTS, LOOKS, Open, check, shoot, sign_in
from tests.desk.conftest import (
    add_page,
    big_cart,
    correct_page,
    delete_page,
    item_of,
    item_page,
    log_entry,
    page_of,
    put_back_page,
    remove_page,
)
from tests.support.factories import CartFactory, ItemFactory, OptionFactory

pytestmark = pytest.mark.django_db(transaction=True)

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


# How far the text of a label sticks out of its row, in pixels.
STICKS_OUT = """label => {
  const range = document.createRange(), row = label.closest(".option-row");
  range.selectNodeContents(label);
  return range.getBoundingClientRect().right - row.getBoundingClientRect().right;
}"""


@pytest.mark.parametrize(("width", "scheme"), LOOKS)
def test_every_page_at_every_size(cart: Cart, open_page: Open, width: int, scheme: str) -> None:
    for _ in range(3):
        CartFactory(items=[ItemFactory(with_option=True)])
    cart.items.last().replace(**ItemFactory(display_name="Lemonade"))
    user = User.objects.get()
    log_entry(cart, user, "Item “Cola”: quantity 1 → 2. Why: “She called”")
    log_entry(cart, user, "Note: “Called, promised a refund”", flag=ADDITION)
    gone = CartFactory()
    Cart.objects.by(Author("bearer", "partner-app", "request-1")).delete_cart(gone.pk)
    look = f"{width}-{scheme}"
    page = open_page(width, scheme)
    page.goto(FIND)
    check(page, f"sign-in-{look}")
    sign_in(page, "anna")
    for name, path in {
        "find": FIND,
        "filters": f"{FIND}?platform=ZZZ",
        "words": f"{FIND}?q=pizza+open+4711+35.30",
        "words-and-a-filter": f"{FIND}?q=pizza+4711&platform=ios-app&changed_from=2026-01-01T00:00",
        "unknown-filter": f"{FIND}?q=pizza&colour=red",
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
        "mine": f"{FIND}mine/",
    }.items():
        page.goto(path)
        check(page, f"{name}-{look}")
        contrast, room = page.locator("#id_q").evaluate(CONTRAST_AND_ROOM)
        assert contrast >= 4.5
        assert room >= 0
        for button in page.locator("button:visible, summary:visible, #user-tools a").all():
            # Large enough for a finger.
            assert button.bounding_box()["height"] >= 24, button.inner_text()
        for link in page.locator(".chips a").all():
            box = link.bounding_box()
            assert min(box["width"], box["height"]) >= (36 if width == 390 else 24)
    page.goto(page_of(cart))
    again, remove = page.locator(".tools .actions a").all()[1:3]
    boxes = again.bounding_box(), remove.bounding_box()
    assert boxes[1]["x"] - boxes[0]["x"] - boxes[0]["width"] >= 30
    page.goto(item_page(cart))
    assert page.locator(".field-DELETE label").first.evaluate(STICKS_OUT) <= 0


@pytest.mark.parametrize("width", [1280, 390])
def test_chips_wrap_and_take_no_room_without_words(desk: Open, width: int) -> None:
    page = desk(width)
    page.goto(f"{FIND}?q=4711+{'W' * 400}+-4711&platform={'W' * 50}")
    check(page, f"long-chips-{width}")
    assert page.locator(".chips li").count() == 4
    for path in (FIND, f"{FIND}mine/"):
        page.goto(path)
        assert not page.locator(".chips").is_visible()


@pytest.mark.parametrize("width", [1280, 390])
def test_the_largest_cart_shows_whole(cart: Cart, desk: Open, width: int) -> None:
    large = big_cart(200, 5)
    page = desk(width)
    page.goto(item_of(large, 199))
    assert page.locator(".order tbody:target").is_visible()
    assert "… and 100 more items" in page.locator("#docket").inner_text()
    check(page, f"largest-cart-{width}")


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
    right = page.evaluate("document.querySelector('#content-main').getBoundingClientRect().right")
    for field in page.locator(".form-row input:visible, .form-row select:visible").all():
        box = field.bounding_box()
        assert box["x"] + box["width"] <= right, "its edge is cut"


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
        assert box["x"] + box["width"] <= width - 15, shown
    heights = page.locator("#slip .inner > span:first-child").evaluate_all(HEIGHTS)
    assert max(heights) < 40  # two rows, with no word broken
