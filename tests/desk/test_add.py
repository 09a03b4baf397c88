from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from carts.admin import forms
from carts.models import Cart
from carts.records import Item
from carts.value_types import is_optional
from tests.desk.conftest import add_page, form_of, items, logged, marked, page_of
from tests.support.factories import CartFactory, ItemFactory, OptionFactory


def test_an_item_is_added_behind_the_last(lead: Client, cart: Cart) -> None:
    url = add_page(cart)
    typed = {
        "menu_key": "DRINKS",
        "menu_version": 1,
        "menu_item_key": 5,
        "display_name": "Cola",
        "price": Decimal("2.50"),
        "quantity": 1,
    }
    assert lead.post(url, form_of(lead, url) | typed).url == page_of(cart)
    first, second = items(cart)
    assert first["display_name"] == "Pizza Margherita"
    made = {"item_id": second["item_id"], "currency": "EUR", "value": Decimal("2.50")}
    assert second == dict.fromkeys(Item._fields) | typed | made | {"options": []}
    assert logged() == "Item added: 1 × [Cola], 2.50"


def test_again_fills_the_form_with_the_values_of_an_item(lead: Client) -> None:
    option = OptionFactory(display_name="Olives", price=Decimal("0.5"))
    cart = CartFactory(
        items=[ItemFactory(price=3, special_instructions="No basil", options=[option, option])]
    )
    [item] = items(cart)
    url = f"{add_page(cart)}?like={item['item_id']}"
    assert f'href="{url}">Again<' in lead.get(page_of(cart)).text
    typed = form_of(lead, url)
    assert Cart.objects.get().version == 1
    for response in (lead.get(url), lead.post(url, typed | {"quantity": "0"})):
        assert marked(response.context["title"]) == "Add [Pizza Margherita] again"
    assert lead.post(url, typed).url == page_of(cart)
    first, second = items(cart)
    assert first == item
    assert second == item | {"item_id": second["item_id"]}
    assert cart.changes.get().operation == "Add Item"
    assert logged() == (
        "Item added: 2 × [Pizza Margherita], 3.00; + [Olives], 0.50; + [Olives], 0.50; “[No basil]”"
    )


@pytest.mark.parametrize("key", ["", "nonsense", str(UUID(int=0)), "\0"])
def test_an_address_of_no_item_opens_an_empty_form(lead: Client, cart: Cart, key: str) -> None:
    editor = lead.get(add_page(cart), {"like": key}).context["editor"]
    assert editor.initial == {"quantity": 1}
    assert editor.options.initial == []


def test_what_the_restaurant_sells_is_offered(
    lead: Client, cart: Cart, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    def sold(name: str, price: int, **values: Any) -> Any:
        option = OptionFactory(display_name=f"Large {name}", price=2)
        return CartFactory(
            items=[ItemFactory(display_name=name, price=price, options=[option])], **values
        )

    sold("Calzone", 7)
    newest = sold("Calzone", 8).items.get()
    sold("Ramen", 8, restaurant_key=99)
    dollars = ItemFactory(display_name="Burger", currency="USD")
    CartFactory(currency="USD", items=[dollars])
    CartFactory(items=[ItemFactory(display_name=f"Dish {number}") for number in range(30)])
    # session, user, two of permissions, the cart, the newest carts, and what they hold
    with django_assert_num_queries(7):
        page = lead.get(add_page(cart))
    dishes, options = page.context["offered"].values()
    assert set(dishes) == {"Calzone", "Pizza Margherita"}
    assert dishes["Calzone"] == {
        "display_name": "Calzone",
        "price": "8.00",
        "menu_key": newest.menu_key,
        "menu_version": str(newest.menu_version),
        "menu_item_key": str(newest.menu_item_key),
    }
    assert options["Large Calzone"]["price"] == "2.00"
    assert '<datalist id="Item"><option value="Calzone">' in page.text
    assert page.text.count('list="Item"') == 1


def test_what_is_optional_is_not_offered(
    lead: Client, cart: Cart, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A field that is added later, too."""
    monkeypatch.setattr(
        forms,
        "is_optional",
        lambda record, name: name == "menu_version" or is_optional(record, name),
    )
    dishes, options = lead.get(add_page(cart)).context["offered"].values()
    keys = {"display_name", "price"}
    assert dishes["Pizza Margherita"].keys() == keys | {"menu_key", "menu_item_key"}
    assert options["Extra mozzarella"].keys() == keys | {"option_set_key", "option_set_item_key"}


def test_a_form_that_is_sent_twice_is_saved_once(lead: Client, cart: Cart) -> None:
    url = f"{add_page(cart)}?like={items(cart)[0]['item_id']}"
    keys = [lead.get(url).context["key"] for _ in range(2)]
    assert keys[0] != keys[1]
    sent = form_of(lead, url) | {"key": keys[0]}
    assert lead.post(url, sent).status_code == 302
    # As the back button does, with the present version.
    response = lead.post(url, sent | {"version": "2"}, follow=True)
    assert "This form was saved before. It was not saved again." in response.text
    assert len(items(cart)) == 2
    assert LogEntry.objects.count() == 1

    other = lead.post(url, sent | {"quantity": "5"})
    assert other.status_code == 409
    assert "This form was saved before, with other values." in other.text
    assert len(items(cart)) == 2
    again = other.context["key"]
    assert lead.post(url, sent | {"quantity": "5", "key": again}).status_code == 302
    assert [item["quantity"] for item in items(cart)] == [2, 2, 5]
