"""Calls, and how many clicks each takes."""

import unicodedata
from datetime import timedelta
from uuid import uuid4
from zoneinfo import ZoneInfo

import pytest
from django.contrib.auth.models import Group, User
from django.utils import timezone
from uuid_utils.compat import uuid7

from carts.models import Cart
from carts.models.cart_change import Author
from carts.models.manager import CartManager
from tests.browser.conftest import FIND, Agent, Open, check, complained
from tests.desk.conftest import PASSWORD, items, member, page_of
from tests.support.factories import CartFactory, ItemFactory, OptionFactory, new_cart, new_item

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
    agent.click("link", "Pizza Margherita")
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


def listed(agent: Agent) -> list[str]:
    """Return the ids of the carts that the page lists."""
    shown: list[str] = agent.page.locator("#result_list [data-label=Cart]").all_inner_texts()
    return shown


def of_dish(name: str, restaurant_key: int = 7, price: str = "10.1") -> Cart:
    dish = ItemFactory(display_name=name, price=price, quantity=1)
    cart: Cart = CartFactory(restaurant_key=restaurant_key, items=[dish])
    return cart


def change(carts: CartManager, cart: Cart, **values: object) -> None:
    """Change the first item of the cart."""
    carts.change_item(cart.pk, items(cart)[0]["item_id"], values)


PRICE_BOT = Cart.objects.by(Author("bearer", "price-bot", "prices-of-today"))
BEN = Cart.objects.by(Author("staff", "ben"))


def filter_by(agent: Agent, **values: str) -> None:
    agent.page.get_by_text("Filters", exact=True).click()
    agent.clicks += 1
    for label, text in values.items():
        agent.type(label.replace("_", " "), text)
    agent.page.keyboard.press("Enter")
    agent.page.wait_for_load_state()


def test_the_app_shows_a_subtotal_that_was_so_once(agent: Agent) -> None:
    wrong, _, _ = of_dish("Naan", 1001, "29.7"), of_dish("Raita", 1001), of_dish("Naan", 7, "29.7")
    change(BEN, wrong, price="31")
    agent.find("1001 29.70")
    agent.told("as it was once")
    assert listed(agent) == [str(wrong.pk)]
    agent.click("link", "Naan")
    agent.told("subtotal 29.70 → 31.00 EUR")
    assert "Staff ben" in agent.page.locator("#version-2").inner_text()
    assert agent.clicks == 1


def test_a_customer_remembers_the_old_name_of_a_dish(agent: Agent) -> None:
    change(PRICE_BOT, of_dish("Calzone"), display_name="Pizza ripiena")
    agent.find("calzone")
    agent.told("as it was once")
    agent.click("link", "Pizza ripiena")
    agent.told("name “Calzone” → “Pizza ripiena”")
    assert agent.clicks == 1


def test_what_changed_between_19_00_and_19_05_is_put_back(agent: Agent) -> None:
    yesterday = timezone.now().astimezone(ZoneInfo("Asia/Tokyo")) - timedelta(days=1)
    seven = yesterday.replace(hour=19, minute=0, second=0, microsecond=0)

    def created(minute: int, second: int = 0) -> Cart:
        moment = seven + timedelta(minutes=minute, seconds=second)
        key = uuid7(nanoseconds=int(moment.timestamp() * 1000) * 1_000_000)
        new = new_cart()._replace(items=(new_item(display_name="Naan"),))
        Cart.objects.dated(moment).create_cart(key, uuid4(), new)
        return Cart.objects.get(pk=key)

    def spoil(cart: Cart, minute: int) -> None:
        change(PRICE_BOT.dated(seven + timedelta(minutes=minute)), cart, price=1)

    spoilt, later = created(-20), created(-10)
    created(1)  # and not changed since
    spoil(spoilt, 2)
    spoil(later, 10)
    BEN.change_cart(spoilt.pk, {"note": "Ring"})
    times = {"Changed_from": f"{seven:%Y-%m-%dT%H:%M}", "Changed_before": f"{seven:%Y-%m-%dT19:05}"}
    filter_by(agent, **times)
    agent.told(f"Changed before: {seven:%-d %b %Y}, 19:05 JST")
    assert listed(agent) == [str(spoilt.pk)]
    filter_by(agent, Changed_by="price-bot")
    agent.click("checkbox", "All of this page")
    day = f"{seven:%-d %b %Y}"
    between = f"since {day}, 19:00 JST until {day}, 19:05 JST"
    agent.click("button", f"Put back what price-bot changed {between} in the selected carts")
    agent.told("1 cart: “Naan”: price 1.00 → 10.10")
    agent.click("button", "Put it back in 1 cart")
    agent.told("Carts changed: 1.")
    assert [items(one)[0]["price"] for one in (spoilt, later)] == [ItemFactory()["price"], 1]
    assert Cart.objects.get(pk=spoilt.pk).note == "Ring"
    assert agent.clicks == 5


def test_what_is_pasted_in_arabic_finds_a_restaurant_and_a_dish(agent: Agent) -> None:
    wanted, _, _ = of_dish("شاورما دجاج", 1002), of_dish("شاورما دجاج"), of_dish("حمص", 1002)
    agent.find("\u202bشاورما،\u202c \u2067١٠٠٢\u2069")
    agent.told("restaurant 1002")
    assert listed(agent) == [str(wanted.pk)]


@pytest.mark.parametrize("place", [3, 30])
def test_an_id_is_misread_in_a_digit(cart: Cart, agent: Agent, place: int) -> None:
    read = str(cart.pk)
    other = "0" if read[place] != "0" else "1"
    agent.find(read[:place] + other + read[place + 1 :])
    agent.told("Nothing has this id. Below is one almost the same.")
    assert agent.page.url.endswith(page_of(cart))
    agent.find(uuid4())
    agent.told("No cart has this id.")
    assert agent.clicks == 0


def test_a_dish_is_typed_without_its_accent(agent: Agent) -> None:
    wanted = of_dish(unicodedata.normalize("NFD", "Tiramisù"))
    agent.find("tiramisu")
    agent.told("dish or text tiramisu")
    assert listed(agent) == [str(wanted.pk)]


def test_a_reference_is_read_from_a_sentence(cart: Cart, agent: Agent) -> None:
    cart.close(outcome="ordered", reference="ORD-900001")
    agent.find("order ORD-900001")
    agent.told("A closed cart cannot be changed.")
    assert agent.page.url.endswith(page_of(cart))
    assert agent.clicks == 0


def test_an_order_has_the_number_of_a_restaurant(cart: Cart, agent: Agent) -> None:
    ordered = of_dish("Tea")
    ordered.close(outcome="ordered", reference="PAY-1", order_reference=str(cart.restaurant_key))
    agent.find(cart.pk)
    agent.click("link", "Carts of this restaurant")
    agent.told("Restaurant key: 4711")
    assert listed(agent) == [str(cart.pk)]
    agent.page.goto(FIND)
    agent.find("4711")
    agent.told("restaurant 4711")
    assert listed(agent) == [str(cart.pk)]
    agent.click("link", "reference 4711?")
    agent.told("order 4711")
    assert agent.page.url.endswith(page_of(ordered))
    assert agent.clicks == 2


def test_a_word_and_a_filter_are_taken_off(cart: Cart, agent: Agent) -> None:
    agent.find("sushi 4711")
    agent.told("No cart matches.")
    agent.click("link", "Search without dish or text")
    agent.told("1 cart")
    assert agent.page.locator("#id_q").input_value() == "4711"
    filter_by(agent, Platform="kiosk")
    agent.told("No cart matches.")
    agent.click("link", "Search without Platform")
    agent.told("1 cart")
    assert listed(agent) == [str(cart.pk)]
    assert agent.clicks == 3


def test_what_a_program_changed_in_many_carts_is_undone(cart: Cart, agent: Agent) -> None:
    carts = [cart, *(of_dish("Naan") for _ in range(20))]
    before = [items(one) for one in carts]
    for one in carts[1:]:
        change(PRICE_BOT, one, price=1)
    filter_by(agent, Changed_by="price-bot")
    agent.click("checkbox", "All of this page")
    agent.click("button", "Put back what price-bot changed in the selected carts")
    agent.told("20 carts: “Naan”: price 1.00 → 10.10")
    agent.click("button", "Put it back in 20 carts")
    agent.told("Carts changed: 20.")
    assert [items(one) for one in carts] == before
    assert agent.clicks == 4


def test_several_carts_are_reopened(cart: Cart, agent: Agent) -> None:
    closed = [of_dish("Tea", 1001) for _ in range(2)]
    for number, one in enumerate(closed):
        one.close(outcome="ordered", reference=f"ORD-{number}")
    agent.find("1001 ordered")
    agent.click("checkbox", "All of this page")
    agent.click("button", "Reopen the selected carts")
    agent.type("Why", "The restaurant is closed today")
    agent.click("button", "Reopen 2 carts")
    agent.told("Carts changed: 2.")
    assert {one.status for one in Cart.objects.all()} == {"open"}
    assert agent.clicks == 3
