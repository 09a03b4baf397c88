import re
from decimal import Decimal
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.contenttypes.models import ContentType
from django.test import Client
from pytest_django import DjangoAssertNumQueries
from uuid_utils.compat import uuid7

from carts.models import Cart, StaffEntry
from carts.models.cart_change import Author
from tests.desk.conftest import (
    add_page,
    big_cart,
    correct_page,
    events,
    form_of,
    form_on,
    item_of,
    item_page,
    items,
    logged,
    marked,
    page_of,
    remove_page,
    words,
)
from tests.support.factories import CartFactory, ItemFactory, OptionFactory


def option_row(number: int, **values: str) -> dict[str, str]:
    """Return what a browser would send of a row in which an option is typed."""
    values = {"display_name": "Olives", "price": "1", "option_set_key": "7"} | values
    values = {"option_set_item_key": "9223372036854775807"} | values
    return {f"options-{number}-{name}": value for name, value in values.items()}


def test_an_item_and_its_options_are_corrected(lead: Client) -> None:
    cart: Any = CartFactory(items=[ItemFactory(options=[OptionFactory(), OptionFactory()])])
    url, before = item_page(cart), items(cart)[0]
    removable = re.findall('name="options-(.+?)-DELETE"', lead.get(url).text)
    assert removable == ["0", "1"]  # not the blank row
    typed = {"quantity": "3", "price": "1,000.00", "options-0-price": "0", "options-1-DELETE": "on"}
    typed |= option_row(2)
    response = lead.post(url, form_of(lead, url) | typed)
    assert response.url == item_of(cart)
    extra = before["options"][0]
    olives = {
        "display_name": "Olives",
        "price": Decimal(1),
        "option_set_key": 7,
        "option_set_item_key": 9223372036854775807,
    }
    assert items(cart)[0] == before | {
        "quantity": 3,
        "price": Decimal(1000),
        "value": Decimal(3003),
        "options": [extra | {"price": Decimal(0)}, extra | olives],
    }
    modified_on = cart.modified_on
    cart.refresh_from_db()
    assert cart.version == 2
    assert cart.modified_on > modified_on
    change = cart.changes.get()
    assert (change.author_kind, change.author_name) == ("staff", "anna")
    assert change.request_id
    entry = LogEntry.objects.get()
    assert entry.user.username == "anna"
    assert entry.get_edited_object() == cart
    assert StaffEntry.objects.values().get() == {
        "log_entry_id": entry.pk,
        "cart_id": cart.pk,
        "profile_key": cart.profile_key,
        "version": 2,
        "request_id": change.request_id,
    }
    assert logged() == (
        "Item “[Pizza Margherita]”: price 10.10 → 1,000.00; quantity 2 → 3; "
        "− option [Extra mozzarella], 1.25; − option [Extra mozzarella], 1.25; "
        "+ option [Extra mozzarella]; + option [Olives], 1.00"
    )
    assert entry.change_message.endswith("; ".join(events(lead, cart)[0].lines))


def test_what_nobody_touched_stays_as_it_was_sent(lead: Client) -> None:
    odd = ItemFactory(
        display_name="  Pizza\u00a0 ",
        price=Decimal("1.2345"),
        special_instructions="one\r\ntwo\n\nthree\t",
        options=[OptionFactory(display_name=" a ")],
    )
    cart = CartFactory(items=[odd, ItemFactory(special_instructions="", price="1.234")])
    before = items(cart)
    for number in (0, 1):
        url = item_page(cart, number)
        sent = form_of(lead, url)
        lines = sent["special_instructions"].replace("\r\n", "\n")
        sent["special_instructions"] = lines.replace("\n", "\r\n")
        lead.post(url, sent)
        assert items(cart) == before
        assert Cart.objects.get().version == 1 + number
        lead.post(url, sent | {"quantity": "5"})
        before[number] |= {"quantity": 5, "value": items(cart)[number]["value"]}
        assert items(cart) == before


def test_the_success_tells_the_new_subtotal(lead: Client, cart: Cart) -> None:
    url = item_page(cart)
    told = lead.post(url, form_of(lead, url) | {"quantity": "3"}, follow=True).context["messages"]
    assert [marked(str(message)) for message in told] == [
        "Item “[Pizza Margherita]”: quantity 2 → 3. The subtotal is now 34.05 EUR."
    ]
    sent = form_of(lead, url) | {"special_instructions": "No basil"}
    assert "The subtotal is now" not in lead.post(url, sent, follow=True).text


def test_the_focus_starts_where_most_is_corrected(lead: Client, cart: Cart) -> None:
    like = f"{add_page(cart)}?like={items(cart)[0]['item_id']}"
    for url, name in (
        (item_page(cart), "quantity"),
        (like, "quantity"),
        (add_page(cart), "display_name"),
        (correct_page(cart), "note"),
    ):
        main = lead.get(url).text.partition("<main")[2]
        assert re.findall('name="([a-z_]+)"[^>]* autofocus', main) == [name]
        assert main.count("autofocus") == 1


def test_an_item_is_removed(lead: Client, cart: Cart) -> None:
    url = remove_page(cart)
    assert "Pizza Margherita" in lead.get(url).text
    assert len(items(cart)) == 1
    assert lead.post(url, {"version": "1"}).url == page_of(cart)
    assert items(cart) == []
    assert cart.changes.get().operation == "Remove Item"
    assert logged() == "Item “[Pizza Margherita]” removed"


def test_what_nobody_typed_takes_the_present_value(lead: Client, cart: Cart) -> None:
    url, item_id = item_page(cart), items(cart)[0]["item_id"]
    sent = form_of(lead, url) | {"special_instructions": "No basil"}
    app = Cart.objects.by(Author("bearer", "app"))
    app.change_item(cart.pk, item_id, {"quantity": 9})
    app.change_item(cart.pk, item_id, {"options": [OptionFactory(display_name="Speck")]})
    assert lead.post(url, sent).status_code == 302
    item = items(cart)[0]
    assert (item["quantity"], item["special_instructions"]) == (9, "No basil")
    assert [option["display_name"] for option in item["options"]] == ["Speck"]
    assert logged() == (
        "Item “[Pizza Margherita]”: instructions for the kitchen nothing → “[No basil]”"
    )


def test_what_both_changed_is_marked_with_both_values(lead: Client, cart: Cart) -> None:
    url, item = item_page(cart), cart.items.get()
    typed = {"quantity": "3", "price": "7", "special_instructions": "No basil"}
    sent = form_of(lead, url) | typed | option_row(1)
    item.change(quantity=5, display_name="Calzone")
    item.change(options=[OptionFactory(display_name="Speck")])
    item.change(special_instructions="No basil")  # what was typed here as well
    response = lead.post(url, sent)
    assert response.status_code == 409
    marks = re.findall(r'class="mark".*?>(.*?)</p>', response.text)
    assert [words(mark) for mark in marks] == [
        "Somebody else: quantity 2 → 5",
        "Somebody else: − option Extra mozzarella, 1.25; + option Speck, 1.25",
    ]
    again = {field.name: field.value() for field in response.context["editor"]}
    assert again["quantity"] == 3
    assert again["price"] == Decimal(7)
    assert again["display_name"] == "Calzone"
    # Whoever decides again decides on what is now.
    assert items(cart)[0]["quantity"] == 5
    second = {name: value for name, value in again.items() if value is not None}
    second |= {"version": "4", "options-TOTAL_FORMS": "0", "options-INITIAL_FORMS": "0"}
    assert lead.post(url, second).status_code == 302
    item = items(cart)[0]
    assert (item["display_name"], item["quantity"], item["options"]) == ("Calzone", 3, [])


def test_a_form_older_than_the_history_replaces_nothing_unseen(lead: Client, cart: Cart) -> None:
    url, item = item_page(cart), cart.items.get()
    sent = form_of(lead, url)
    for number in range(101):
        item.change(quantity=number + 3)
    response = lead.post(url, sent)
    assert response.status_code == 409
    assert "Somebody else: changed this" in words(response.text)
    assert items(cart)[0]["quantity"] == 103


@pytest.mark.parametrize("key", ["", "x" * 5000, "\0", "nonsense"])
def test_a_key_that_is_none_stops_nobody(lead: Client, cart: Cart, key: str) -> None:
    url = item_page(cart)
    assert lead.post(url, form_of(lead, url) | {"quantity": "3", "key": key}).status_code == 302
    assert items(cart)[0]["quantity"] == 3


def test_a_form_that_was_refused_may_be_sent_again(lead: Client, cart: Cart) -> None:
    url = item_page(cart)
    sent = form_of(lead, url) | {"quantity": "3", "key": str(uuid7())}
    cart.items.get().change(quantity=9)
    assert lead.post(url, sent).status_code == 409
    assert lead.post(url, sent | {"version": "2"}).status_code == 302
    assert items(cart)[0]["quantity"] == 3


def test_an_item_that_was_removed_meanwhile_is_not_brought_back(lead: Client, cart: Cart) -> None:
    pages = item_page(cart), remove_page(cart)
    Cart.objects.remove_item(cart.pk, items(cart)[0]["item_id"])
    answers = [lead.get(url, follow=True) for url in pages]
    answers.append(lead.post(pages[1], {"version": "1", "why": ""}, follow=True))
    for response in answers:
        assert response.redirect_chain == [(page_of(cart), 302)]
        assert "This item was removed meanwhile" in response.text
    assert items(cart) == []


@pytest.mark.usefixtures("raised_limits")
def test_a_cart_of_500_items_opens_and_saves(lead: Client) -> None:
    cart = big_cart(499, 5)
    cart.add_item(**ItemFactory(options=[OptionFactory() for _ in range(100)]))
    url = item_page(cart, 499)
    typed = form_of(lead, url) | {"quantity": "9", "options-99-price": "7"}
    response = lead.post(url, typed, follow=True)
    assert response.redirect_chain == [(item_of(cart, 499), 302)]
    assert len(response.context["items"]) == 500
    last = items(cart)[499]
    assert (last["quantity"], last["options"][99]["price"]) == (9, 7)


def test_a_save_takes_18_queries(
    lead: Client, cart: Cart, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    url = item_page(cart)
    sent = form_of(lead, url) | {"quantity": "3", "key": str(uuid7())}
    ContentType.objects.clear_cache()  # an earlier test may have filled it
    with django_assert_num_queries(
        1  # the session
        + 1  # the user
        + 2  # the user's permissions, and those of the groups
        + 1  # the cart with all it holds
        + 2  # SAVEPOINT of the page and of the change
        + 1  # INSERT the key of the form
        + 2  # SELECT the cart and lock it, SELECT the item with its options
        + 2  # UPDATE the cart and the item
        + 1  # INSERT the record of the change
        + 1  # RELEASE the change's
        + 3  # the content type, the entry in the staff log, and which cart it is about
        + 1  # RELEASE the page's
    ):
        response = lead.post(url, sent)
    assert (response.status_code, items(cart)[0]["quantity"]) == (302, 3)


def test_what_was_typed_of_an_item_that_was_removed_can_be_added(lead: Client, cart: Cart) -> None:
    url, before = item_page(cart), items(cart)[0]
    typed = form_of(lead, url) | {"quantity": "5", "special_instructions": "Extra hot"}
    Cart.objects.remove_item(cart.pk, before["item_id"])

    response = lead.post(url, typed)

    assert response.status_code == 409
    assert "This item was removed meanwhile. Nothing was saved." in response.text
    assert f'action="{add_page(cart)}"' in response.text
    assert items(cart) == []
    assert lead.post(add_page(cart), form_on(response)).status_code == 302
    added = before | {"quantity": 5, "special_instructions": "Extra hot"}
    [item] = items(cart)
    assert {**item, "item_id": 0, "value": 0} == {**added, "item_id": 0, "value": 0}
    # If the cart has gone as well, there is nothing to add to.
    Cart.objects.delete_cart(cart.pk)
    assert lead.post(url, typed).url == page_of(cart)
