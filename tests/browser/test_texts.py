import pytest
from uuid_utils.compat import uuid7

from carts.admin.formatting import CONTROLS
from carts.models import Cart
from tests.browser.conftest import FIND, HEIGHTS, Open, check, complained
from tests.desk.conftest import delete_page, item_of, item_page, page_of, remove_page
from tests.desk.test_put_back_many import set_prices
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


# Where a slip's own rows begin, and where each row of a caller's text in it does, in pixels.
EDGES = """slip => [slip.querySelector("hr").getBoundingClientRect().left, ...Array.from(
  slip.querySelectorAll("p:not(.priced) bdi, .priced > span > bdi"),
  text => Array.from(text.getClientRects(), row => row.left)).flat()]"""


WEIGHTS = "texts => texts.map(text => getComputedStyle(text).fontWeight)"


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


# Where each of these texts begins and ends, in pixels, within the last element that holds them all.
PLACES = """texts => {
  const holds = element => texts.every(text => element.textContent.includes(text));
  const line = [...document.querySelectorAll("body *")].filter(holds).at(-1);
  const nodes = document.createTreeWalker(line, NodeFilter.SHOW_TEXT);
  const range = document.createRange(), places = [];
  let [node, end] = [nodes.nextNode(), 0];
  for (const text of texts) {
    while (node.data.indexOf(text, end) < 0) [node, end] = [nodes.nextNode(), 0];
    const start = node.data.indexOf(text, end);
    end = start + text.length;
    range.setStart(node, start);
    range.setEnd(node, end);
    const box = range.getBoundingClientRect();
    places.push(Math.round(box.left), Math.round(box.right));
  }
  return places;
}"""

# Shows a text as where it is pasted.
PASTE = """text => {
  const shown = document.createElement("pre");
  shown.textContent = text;
  document.body.replaceChildren(shown);
}"""

ODD_NAMES = ["12” سلطة", "“شاورما", "كولا, 0.5 لتر", "שלום; 5 ", "7 → פלאפל", "פיתה, 5"]
TURNED = [f"{control}شاورما" for control in ("\u202e", "\u2069\u202e", "\u2067")]


@pytest.mark.parametrize("name", [*ODD_NAMES, *TURNED])
def test_each_value_stands_between_the_words_around_it(
    desk: Open, open_page: Open, name: str
) -> None:
    values = {"display_name": name, "special_instructions": name, "with_option": True}
    cart = CartFactory(items=[ItemFactory(price="64.50", quantity=3, **values)])
    page, sent, name = desk(), name, name.translate(CONTROLS)

    def in_order(*texts: str) -> None:
        places = page.evaluate(PLACES, list(texts))
        assert places == sorted(places), (page.url, texts)

    page.goto(f"{FIND}?q={cart.restaurant_key}")
    in_order("3\xa0×", name, "197.25")
    page.goto(delete_page(cart))
    in_order("3 × ", name, "64.50")
    page.goto(remove_page(cart))
    in_order("Remove ", name, "?")
    in_order("Carts", "Remove ", name, "?")
    title = page.title()
    page.goto(page_of(cart))
    in_order("3 × ", name, "64.50")
    copied = page.locator("[data-copy-order]").get_attribute("data-copy")
    for text, words in (
        (title, ("Remove ", name, "?", "Support desk")),
        (copied, ("3 ×", name, ": 197.25", "(65.75 each)")),
    ):
        page.evaluate(PASTE, text)
        in_order(*words)
    page.goto(item_page(cart))
    in_order("Correct ", name)
    page.get_by_label("Name").first.fill(f"{sent} a")
    page.get_by_label("Instructions for the kitchen").fill(f"{sent} b")
    page.get_by_role("button", name="Save").click()
    page.wait_for_url(f"**{item_of(cart)}")
    in_order("name “", name, "” → “", f"{name} a", "”")
    in_order("instructions for the kitchen “", name, "” → “", f"{name} b", "”")
    page.goto(f"{page_of(cart)}?staff")
    in_order("Item “", name, "”: name “", name, "” → “", f"{name} a", "”; instructions")
    page.goto(item_page(cart))
    page.get_by_label("Name").first.fill("Calzone")
    cart.items.get().change(display_name=sent)
    page.get_by_role("button", name="Save").click()
    in_order("name “", f"{name} a", "” → “", name, "”")
    in_order("The item is now: ", "3 × ", name, "64.50")
    complained(open_page, 409)


def test_hostile_text_on_the_pages_of_many_carts(cart: Cart, desk: Open) -> None:
    for text in (*HOSTILE, "شاورما دجاج", "פלאפל בפיתה"):
        one = CartFactory(
            partner_key="WWWW",
            ordering_channel=text[:50],
            items=[ItemFactory(display_name=text, options=[OptionFactory(display_name=text)])],
        )
        set_prices(one, 1)
    page = desk(390)
    page.goto(f"{FIND}?q=WWWW&changed_by=Sync+P019")
    page.get_by_label("All of this page").check()
    page.get_by_role("button", name="Change channels").click()
    page.get_by_label("Ordering channel").fill("\u202e" + "W" * 49)
    page.get_by_role("button", name="Preview").click()
    check(page, "hostile-channels")
    page.goto(f"{FIND}?q=WWWW&changed_by=Sync+P019")
    page.get_by_label("All of this page").check()
    page.get_by_role("button", name="Put back what Sync P019 changed").click()
    check(page, "hostile-put-back")
    page.get_by_role("button", name="Put it back in 9 carts").click()
    check(page, "hostile-put-back-done")
    for number, one in enumerate(Cart.objects.filter(partner_key="WWWW")):
        reference = ("W" * 255, f"\u202e{number}")[number % 2]
        one.close(outcome="ordered", reference=reference, order_reference=reference)
    page.goto(f"{FIND}?q=WWWW&changed_by=Sync+P019")
    page.get_by_label("All of this page").check()
    page.get_by_role("button", name="Reopen the selected carts").click()
    check(page, "hostile-reopen")
    # The browser asks why.
    page.get_by_role("button", name="Reopen 9 carts").click()
    assert Cart.objects.with_status("ordered").count() == 9
    page.get_by_label("Why").fill("A mistake")
    page.get_by_role("button", name="Reopen 9 carts").click()
    page.get_by_text("Carts changed: 9.").wait_for()
