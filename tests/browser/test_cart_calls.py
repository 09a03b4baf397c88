"""Calls about one cart: how many clicks each takes."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.utils import timezone

from carts.models import Cart
from carts.models.cart_change import Author
from tests.browser.conftest import FIND, Agent, Open, complained
from tests.desk.conftest import PASSWORD, items, log_entry, member, page_of
from tests.support.factories import CartFactory, ItemFactory, OptionFactory

pytestmark = pytest.mark.django_db(transaction=True)


PIZZA, CART = "Correct Pizza Margherita", "Change note, instructions or channels"


@pytest.mark.parametrize(
    ("link", "label", "text", "told"),
    [
        (PIZZA, "Quantity", "1", "quantity 2 → 1"),
        (CART, "Instructions for the kitchen", "Ring once", "“Ring twice” → “Ring once”"),
        (PIZZA, "Instructions for the kitchen", "No onions", "“No basil” → “No onions”"),
    ],
    ids=["1 ordered one pizza", "2 wrong note to the kitchen", "3 said without onions"],
)
@pytest.mark.parametrize("width", [1280, 390])
def test_1_to_3_and_20_a_value_is_wrong(
    cart: Cart, desk: Open, width: int, link: str, label: str, text: str, told: str
) -> None:
    agent = Agent(desk(width))
    agent.find(cart.pk)
    agent.click("link", link)
    agent.type(label, text)
    agent.click("button", "Save")
    agent.told(told)
    assert agent.clicks == 2
    at = "" if link == CART else f"#item-{items(cart)[0]['item_id']}"
    assert agent.page.url.endswith(f"{page_of(cart)}{at}")


def test_4_the_total_is_wrong(agent: Agent) -> None:
    option = OptionFactory(display_name="Extra mozzarella", price="12.5")
    wrong = CartFactory(items=[ItemFactory(options=[option], quantity=1)])
    agent.find(f"{wrong.restaurant_key} 22.60")
    agent.click("link", str(wrong.pk))
    agent.click("link", "Correct Pizza Margherita")
    agent.page.locator("#id_options-0-price").fill("1.25")
    agent.click("button", "Save")
    agent.told("The subtotal is now 11.35 EUR.")
    assert agent.clicks == 3


def test_8_undo_what_a_colleague_did_an_hour_and_thirty_changes_ago(
    cart: Cart, agent: Agent
) -> None:
    cola = cart.items.get(display_name="Cola")
    carts = Cart.objects.by(Author("staff", "ben"))
    carts.change_item(cart.pk, cola.pk, {"quantity": 9})
    pizza = items(cart)[0]["item_id"]
    for number in range(30):
        carts.change_item(cart.pk, pizza, {"quantity": number + 3})
    agent.find(cart.pk)
    agent.click("link", "Earlier changes")
    agent.click("link", "Put it back Cola")
    agent.told("What it will be")
    agent.click("button", "Put it back")
    agent.told("put back as before")
    assert (items(cart)[1]["quantity"], items(cart)[0]["quantity"]) == (1, 32)
    assert agent.clicks == 3


def test_9_two_agents_and_the_app_at_once(cart: Cart, desk: Open, open_page: Open) -> None:
    member("ben", "Cart support agent")
    anna, ben = Agent(desk()), Agent(desk())
    for agent in (anna, ben):
        agent.find(cart.pk)
        agent.click("link", "Correct Pizza Margherita")
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
    assert (anna.clicks, ben.clicks) == (2, 3)
    complained(open_page, 409)


def test_10_a_customer_wants_a_copy_or_the_erasure(cart: Cart, agent: Agent) -> None:
    agent.find(cart.pk)
    agent.page.get_by_text("A copy or the erasure of their data").click()
    agent.told(f"manage.py export_customer {cart.profile_key}")
    agent.told(f"manage.py erase_customer {cart.profile_key}")


def test_11_and_14_what_a_colleague_did_today_and_yesterday(cart: Cart, agent: Agent) -> None:
    ben, now = member("ben", "Cart support agent"), timezone.now()
    for text, at in (("Done today", now), ("Done yesterday", now - timedelta(days=1))):
        entry = log_entry(cart, ben, text)
        type(entry).objects.filter(pk=entry.pk).update(action_time=at)
    for day, other in (("Today", "Yesterday"), ("Yesterday", "Today")):
        agent.page.goto(FIND)
        agent.clicks = 0
        agent.click("link", "Staff activity")
        agent.click("link", day)
        agent.told(f"Done {day.lower()}")
        assert not agent.page.get_by_text(f"Done {other.lower()}").is_visible()
        assert agent.clicks == 2


def test_12_and_19_a_colleague_comes_and_goes(agent: Agent, open_page: Open) -> None:
    agent.click("link", "Users")
    agent.click("link", "Add user")
    agent.page.get_by_label("Username").fill("cleo")
    for field in ("#id_password1", "#id_password2"):
        agent.page.locator(field).fill(PASSWORD)
    agent.click("radio", "Cart support agent: changes carts")
    agent.click("button", "Save", exact=True)
    agent.told("was added successfully")
    assert agent.clicks == 4
    cleo = open_page()
    sign_in_first(cleo)
    cleo.get_by_text("You have changed no cart yet.").wait_for()
    agent.page.goto(FIND)
    agent.clicks = 0
    agent.click("link", "Users")
    agent.click("link", "cleo")
    agent.click("checkbox", "Active")
    agent.click("button", "Save", exact=True)
    agent.told("was changed successfully")
    assert agent.clicks == 4
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


def test_16_it_hangs_in_checkout(cart: Cart, agent: Agent) -> None:
    cart.close(outcome="checkout", reference="PAY-4711")
    agent.find("PAY-4711")
    agent.click("link", "Reopen")
    agent.type("Why", "The payment page has crashed")
    agent.click("button", "Reopen the cart")
    agent.told("Cart reopened")
    assert agent.clicks == 2
    assert Cart.objects.get().state.status == "open"


def test_17_it_was_ordered_twice(cart: Cart, agent: Agent) -> None:
    again = CartFactory(profile_key=cart.profile_key, items=[ItemFactory()])
    for number, one in enumerate((cart, again)):
        one.close(outcome="ordered", reference=f"ORD-{number}")
    agent.find(cart.profile_key)
    for number in range(2):
        agent.told(f"ORD-{number}")
    assert agent.page.locator("#result_list .status.ordered").count() == 2
    agent.click("link", str(again.pk))
    agent.click("link", "Add a note")
    agent.type("Note", "Ordered twice, refund promised")
    agent.click("button", "Add the note")
    agent.told("Ordered twice, refund promised")
    assert agent.clicks == 3
