"""The calls that a desk takes, clicked, with what each may cost in clicks."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.utils import timezone

from carts.models import Cart
from carts.models.cart_change import Author
from tests.browser.conftest import FIND, Open, complained
from tests.desk.conftest import PASSWORD, items, log_entry, member, page_of
from tests.support.factories import CartFactory, ItemFactory, OptionFactory

pytestmark = pytest.mark.django_db(transaction=True)


class Clicks:
    """A member of staff at a page: what is typed costs nothing, each click one."""

    def __init__(self, page: Any) -> None:
        self.page, self.count = page, 0

    def click(self, role: str, name: str, **which: Any) -> None:
        self.page.get_by_role(role, name=name, **which).first.click()
        self.count += 1

    def find(self, term: object) -> None:
        self.page.locator("#id_q").fill(str(term))
        self.page.keyboard.press("Enter")
        self.page.wait_for_load_state()

    def type(self, label: str, text: str) -> None:
        self.page.get_by_label(label).fill(text)

    def told(self, text: str) -> None:
        self.page.get_by_text(text).first.wait_for()


@pytest.fixture
def call(desk: Open) -> Clicks:
    return Clicks(desk())


def test_1_two_pizzas_and_one_was_ordered(cart: Cart, call: Clicks) -> None:
    call.find(cart.pk)
    call.click("link", "Correct Pizza Margherita")
    call.type("Quantity", "1")
    call.click("button", "Save")
    call.told("quantity 2 → 1")
    assert call.count == 2


def test_2_the_kitchens_note_is_wrong(cart: Cart, call: Clicks) -> None:
    call.find(cart.profile_key)
    call.click("link", str(cart.pk))
    call.click("link", "Change note, instructions or channels")
    call.type("Instructions for the kitchen", "Ring once")
    call.click("button", "Save")
    call.told("“Ring twice” → “Ring once”")
    assert call.count == 3


def test_3_i_said_without_onions(cart: Cart, call: Clicks) -> None:
    call.find(cart.pk)
    call.click("link", "Correct Pizza Margherita")
    call.type("Instructions for the kitchen", "Without onions")
    call.click("button", "Save")
    call.told("“No basil” → “Without onions”")
    assert call.count == 2


def test_4_the_total_is_wrong(call: Clicks) -> None:
    option = OptionFactory(display_name="Extra mozzarella", price="12.5")
    wrong = CartFactory(items=[ItemFactory(options=[option], quantity=1)])
    call.find(f"{wrong.restaurant_key} 22.60")
    call.click("link", str(wrong.pk))
    call.click("link", "Correct Pizza Margherita")
    call.page.locator("#id_options-0-price").fill("1.25")
    call.click("button", "Save")
    call.told("The subtotal is now 11.35 EUR.")
    assert call.count == 3


def test_8_undo_what_a_colleague_did_an_hour_and_thirty_changes_ago(
    cart: Cart, call: Clicks
) -> None:
    cola = cart.items.get(display_name="Cola")
    carts = Cart.objects.by(Author("staff", "ben"))
    carts.change_item(cart.pk, cola.pk, {"quantity": 9})
    pizza = items(cart)[0]["item_id"]
    for number in range(30):
        carts.change_item(cart.pk, pizza, {"quantity": number + 3})
    call.find(cart.pk)
    call.click("link", "Earlier changes")
    call.click("link", "Put it back Cola")
    call.told("What it will be")
    call.click("button", "Put it back")
    call.told("put back as before")
    assert (items(cart)[1]["quantity"], items(cart)[0]["quantity"]) == (1, 32)
    assert call.count == 3


def test_9_two_agents_and_the_app_at_once(cart: Cart, desk: Open, open_page: Open) -> None:
    member("ben", "Cart support agent")
    anna, ben = Clicks(desk()), Clicks(desk())
    for call in (anna, ben):
        call.find(cart.pk)
        call.click("link", "Correct Pizza Margherita")
    pizza = items(cart)[0]["item_id"]
    Cart.objects.by(Author("bearer", "app")).change_item(cart.pk, pizza, {"price": 11})
    anna.type("Quantity", "5")
    anna.click("button", "Save")
    anna.told("quantity 2 → 5")
    ben.type("Quantity", "7")
    ben.click("button", "Save")
    ben.told("Nothing was saved.")
    ben.told("quantity 2 → 5")
    ben.click("button", "Replace it with this")
    ben.told("quantity 5 → 7")
    assert (items(cart)[0]["quantity"], items(cart)[0]["price"]) == (7, 11)
    assert (anna.count, ben.count) == (2, 3)
    complained(open_page, 409)


def test_10_a_customer_wants_a_copy_or_the_erasure(cart: Cart, call: Clicks) -> None:
    call.find(cart.pk)
    call.page.get_by_text("A copy or the erasure of their data").click()
    call.told(f"manage.py export_customer {cart.profile_key}")
    call.told(f"manage.py erase_customer {cart.profile_key}")


def test_11_and_14_what_a_colleague_did_today_and_yesterday(cart: Cart, call: Clicks) -> None:
    ben, now = member("ben", "Cart support agent"), timezone.now()
    for text, at in (("Done today", now), ("Done yesterday", now - timedelta(days=1))):
        entry = log_entry(cart, ben, text)
        type(entry).objects.filter(pk=entry.pk).update(action_time=at)
    for day, other in (("Today", "Yesterday"), ("Yesterday", "Today")):
        call.page.goto(FIND)
        call.count = 0
        call.click("link", "Staff activity")
        call.click("link", day)
        call.told(f"Done {day.lower()}")
        assert not call.page.get_by_text(f"Done {other.lower()}").is_visible()
        assert call.count == 2


def test_12_and_19_a_colleague_comes_and_goes(call: Clicks, open_page: Open) -> None:
    call.click("link", "Accounts")
    call.click("link", "Add account")
    call.page.get_by_label("Username").fill("cleo")
    for field in ("#id_password1", "#id_password2"):
        call.page.locator(field).fill(PASSWORD)
    call.click("radio", "Cart support agent: changes carts")
    call.click("button", "Save", exact=True)
    call.told("was added successfully")
    assert call.count == 4
    cleo = open_page()
    sign_in_first(cleo)
    cleo.get_by_text("You have changed no cart yet.").wait_for()
    call.page.goto(FIND)
    call.count = 0
    call.click("link", "Accounts")
    call.click("link", "cleo")
    call.click("checkbox", "Active")
    call.click("button", "Save", exact=True)
    call.told("was changed successfully")
    assert call.count == 4
    user = User.objects.get(username="cleo")
    assert (user.is_active, user.groups.get()) == (
        False,
        Group.objects.get(name="Cart support agent"),
    )


def sign_in_first(page: Any) -> None:
    """Sign cleo in, who is asked for a password of her own."""
    page.goto(FIND)
    page.get_by_label("Username").fill("cleo")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()
    page.get_by_role("heading", name="Choose a password of your own").wait_for()
    page.get_by_label("Old password").fill(PASSWORD)
    for field in ("#id_new_password1", "#id_new_password2"):
        page.locator(field).fill("another horse battery")
    page.keyboard.press("Enter")
    page.get_by_text("Your password was changed.").wait_for()


def test_16_it_hangs_in_checkout(cart: Cart, call: Clicks) -> None:
    cart.close(outcome="checkout", reference="PAY-4711")
    call.find("PAY-4711")
    call.click("link", "Reopen")
    call.type("Why", "The payment page has crashed")
    call.click("button", "Reopen the cart")
    call.told("Cart reopened")
    assert call.count == 2
    assert Cart.objects.get().state.status == "open"


def test_17_it_was_ordered_twice(cart: Cart, call: Clicks) -> None:
    again = CartFactory(profile_key=cart.profile_key, items=[ItemFactory()])
    for number, one in enumerate((cart, again)):
        one.close(outcome="ordered", reference=f"ORD-{number}")
    call.find(cart.profile_key)
    for number in range(2):
        call.told(f"ORD-{number}")
    assert call.page.locator("#result_list .status.ordered").count() == 2
    call.click("link", str(again.pk))
    call.click("link", "Add a note")
    call.type("Note", "Ordered twice, refund promised")
    call.click("button", "Add the note")
    call.told("Ordered twice, refund promised")
    assert call.count == 3


def test_20_on_a_phone(cart: Cart, desk: Open) -> None:
    call = Clicks(desk(390))
    call.find(cart.pk)
    call.click("link", "Correct Pizza Margherita")
    call.type("Quantity", "1")
    call.click("button", "Save")
    call.told("quantity 2 → 1")
    assert call.count == 2
    assert call.page.url.endswith(f"{page_of(cart)}#item-{items(cart)[0]['item_id']}")
