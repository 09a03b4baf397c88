"""Calls, and how many clicks each takes."""

import pytest
from django.contrib.auth.models import Group, User

from carts.models import Cart
from carts.models.cart_change import Author
from tests.browser.conftest import FIND, Agent, Open, check, complained
from tests.desk.conftest import PASSWORD, items, member, page_of
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
    check(ben.page, "conflict")
    ben.click("button", "Replace it with this")
    ben.told("quantity 5 → 7")
    assert (items(cart)[0]["quantity"], items(cart)[0]["price"]) == (7, 11)
    assert (anna.clicks, ben.clicks) == (2, 3)
    complained(open_page, 409)


def test_12_and_19_a_colleague_comes_and_goes(agent: Agent) -> None:
    agent.click("link", "Users")
    agent.click("link", "Add user")
    agent.page.get_by_label("Username").fill("cleo")
    for field in ("#id_password1", "#id_password2"):
        agent.page.locator(field).fill(PASSWORD)
    agent.click("radio", "Cart support agent: changes carts")
    agent.click("button", "Save", exact=True)
    agent.told("was added successfully")
    assert agent.clicks == 4
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
