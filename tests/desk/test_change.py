import re
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from threading import Barrier
from typing import Any
from uuid import UUID

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.contenttypes.models import ContentType
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from carts.models import Cart
from carts.models.change import Author
from tests.desk.conftest import (
    big_cart,
    form_of,
    item_of,
    item_page,
    items,
    page_of,
    staff,
)
from tests.support.concurrency import held, in_background
from tests.support.factories import CartFactory, ItemFactory, OptionFactory


def test_an_item_and_its_options_are_corrected(lead: Client, cart: Cart) -> None:
    url, before = item_page(cart), items(cart)[0]
    sent = form_of(lead, url) | {
        "quantity": "3",
        "price": "9.95",
        "options-0-price": "0.50",
        "options-1-display_name": "Olives",
        "options-1-price": "1",
        "options-1-option_set_key": "7",
        "options-1-option_set_item_key": "9223372036854775807",
    }
    response = lead.post(url, sent)
    assert response.url == item_of(cart)
    after = items(cart)[0]
    extra = before["options"][0]
    assert after == before | {
        "quantity": 3,
        "price": Decimal("9.95"),
        "value": Decimal("34.35"),
        "options": [
            extra | {"price": Decimal("0.50")},
            extra
            | {
                "display_name": "Olives",
                "price": Decimal(1),
                "option_set_key": 7,
                "option_set_item_key": 9223372036854775807,
            },
        ],
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
    assert entry.object_repr == f"{cart.id} of {cart.profile_key}"
    assert entry.get_change_message() == (
        "Item “Pizza Margherita”: price 10.10 → 9.95; quantity 2 → 3; "
        "without Extra mozzarella, 1.25; with Extra mozzarella, 0.50; with Olives, 1.00"
    )
    event = lead.get(page_of(cart)).context["timeline"]["events"][0]
    assert event.lines == [
        "price 10.10 → 9.95",
        "quantity 2 → 3",
        "without Extra mozzarella, 1.25",
        "with Extra mozzarella, 0.50",
        "with Olives, 1.00",
    ]


def test_an_option_is_removed(lead: Client, cart: Cart) -> None:
    url = item_page(cart)
    lead.post(url, form_of(lead, url) | {"options-0-DELETE": "on"})
    assert items(cart)[0]["options"] == []
    assert LogEntry.objects.get().change_message.endswith(": without Extra mozzarella, 1.25")


def test_only_an_option_that_there_is_can_be_deleted(lead: Client, cart: Cart) -> None:
    page = lead.get(item_page(cart)).text
    assert 'name="options-1-display_name"' in page
    assert re.findall('name="options-(.+?)-DELETE"', page) == ["0"]


def test_what_nobody_touched_stays_as_it_was_sent(lead: Client) -> None:
    cart = CartFactory(
        items=[
            ItemFactory(
                display_name="  Pizza\u00a0 ",
                price=Decimal("1.2345"),
                special_instructions="one\r\ntwo\n\nthree\t",
                options=[OptionFactory(display_name=" a ")],
            ),
            ItemFactory(special_instructions=""),
        ]
    )
    before = items(cart)
    for number in (0, 1):
        url = item_page(cart, number)
        sent = form_of(lead, url)
        sent["special_instructions"] = sent["special_instructions"].replace("\r\n", "\n")
        sent["special_instructions"] = sent["special_instructions"].replace("\n", "\r\n")
        lead.post(url, sent)
        assert items(cart) == before
        assert Cart.objects.get().version == 1 + number
        lead.post(url, sent | {"quantity": "5"})
        before[number] |= {"quantity": 5, "value": items(cart)[number]["value"]}
        assert items(cart) == before


def test_an_item_is_added_behind_the_last(lead: Client, cart: Cart) -> None:
    url = f"/admin/carts/cart/{cart.pk}/items/add/"
    sent = form_of(lead, url) | {
        "display_name": "Cola",
        "quantity": "1",
        "price": "2.50",
        "menu_key": "DRINKS",
        "menu_version": "1",
        "menu_item_key": "5",
    }
    assert lead.post(url, sent).url == page_of(cart)
    first, second = items(cart)
    assert first["display_name"] == "Pizza Margherita"
    del second["item_id"]
    assert second == {
        "menu_key": "DRINKS",
        "menu_version": 1,
        "menu_item_key": 5,
        "display_name": "Cola",
        "currency": "EUR",
        "price": Decimal("2.50"),
        "quantity": 1,
        "special_instructions": None,
        "options": [],
        "value": Decimal("2.50"),
    }
    assert LogEntry.objects.get().change_message == "Item added: 1 × Cola, 2.50"


def test_again_fills_the_form_with_the_values_of_an_item(lead: Client) -> None:
    option = OptionFactory(display_name="Olives", price=Decimal("0.5"))
    cart = CartFactory(
        items=[ItemFactory(price=3, special_instructions="No basil", options=[option, option])]
    )
    [item] = items(cart)
    url = f"/admin/carts/cart/{cart.pk}/items/add/?like={item['item_id']}"
    assert f'href="{url}">Again<' in lead.get(page_of(cart)).text
    typed = form_of(lead, url)
    assert Cart.objects.get().version == 1
    for response in (lead.get(url), lead.post(url, typed | {"quantity": "0"})):
        assert response.context["title"] == "Add Pizza Margherita again"
    assert lead.post(url, typed).url == page_of(cart)
    first, second = items(cart)
    assert first == item
    assert second == item | {"item_id": second["item_id"]}
    assert cart.changes.get().operation == "Add Item"
    assert LogEntry.objects.get().change_message == (
        "Item added: 2 × Pizza Margherita, 3.00; + Olives, 0.50; + Olives, 0.50; “No basil”"
    )


@pytest.mark.parametrize("like", ["", "nonsense", str(UUID(int=0)), "\0"])
def test_again_of_no_item_is_an_empty_form(lead: Client, cart: Cart, like: str) -> None:
    url = f"/admin/carts/cart/{cart.pk}/items/add/"
    editor = lead.get(url, {"like": like}).context["editor"]
    assert editor.initial == {}
    assert editor.options.initial == []


def test_an_item_is_removed(lead: Client, cart: Cart) -> None:
    url = item_page(cart) + "remove/"
    assert "Pizza Margherita" in lead.get(url).text
    assert len(items(cart)) == 1
    assert lead.post(url, {"version": "1"}).url == page_of(cart)
    assert items(cart) == []
    cart.refresh_from_db()
    assert cart.changes.last().operation == "Remove Item"
    assert LogEntry.objects.get().change_message == "Item “Pizza Margherita” removed"


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("quantity", "0", "greater than or equal to 1"),
        ("quantity", "10000", "less than or equal to 9999"),
        ("quantity", "", "required"),
        ("quantity", "5.5", "Enter a whole number"),
        ("price", "1.23456", "no more than 4 decimal places"),
        ("price", "-1", "greater than or equal to 0"),
        ("price", "NaN", "Enter a number"),
        ("price", "9,50", "Enter a number with a point, such as 9.50."),
        ("display_name", "   ", "cannot be blank"),
        ("display_name", "x" * 101, "at most 100 characters"),
        ("display_name", "a\x1bb", "control character U+001B"),
        ("special_instructions", "x" * 301, "at most 300 characters"),
        ("menu_item_key", str(2**63), "less than or equal to"),
        ("options-0-price", "x", "Enter a number with a point, such as 9.50."),
        ("options-0-display_name", "", "required"),
        ("options-0-option_set_key", str(-(2**63) - 1), "greater than or equal to"),
    ],
)
def test_what_the_specification_refuses_is_refused_here(
    lead: Client,
    cart: Cart,
    unchanged: Callable[[], None],
    name: str,
    value: str,
    text: str,
) -> None:
    unchanged()
    url = item_page(cart)
    response = lead.post(url, form_of(lead, url) | {name: value})
    assert response.status_code == 200
    assert text in response.text
    assert not LogEntry.objects.exists()


def test_too_many_options_are_refused(
    lead: Client, unchanged: Callable[[], None], settings: Any
) -> None:
    settings.MAX_OPTIONS = 2
    cart = CartFactory(items=[ItemFactory(options=[OptionFactory(), OptionFactory()])])
    unchanged()
    url = item_page(cart)
    row = {"display_name": "x", "price": "1", "option_set_key": "1", "option_set_item_key": "1"}
    sent = form_of(lead, url) | {f"options-2-{name}": value for name, value in row.items()}
    assert "There must not be more than 2 options" in lead.post(url, sent).text


def test_the_second_of_two_editors_is_told(lead: Client, cart: Cart) -> None:
    url = item_page(cart)
    first = staff("Cart support lead", "zoe")
    mine, theirs = form_of(lead, url), form_of(first, url)
    first.post(url, theirs | {"quantity": "7"})
    response = lead.post(url, mine | {"display_name": "Calzone"})
    assert response.status_code == 409
    assert items(cart)[0]["display_name"] == "Pizza Margherita"
    assert [event.change.author_name for event in response.context["missed"]] == ["zoe"]
    assert "7 × <bdi>Pizza Margherita</bdi>" in response.text
    assert 'value="Calzone"' in response.text
    assert LogEntry.objects.count() == 1
    # The page now carries the version that it shows, so that saving again succeeds.
    again = mine | {"display_name": "Calzone", "version": response.context["cart"].version}
    assert lead.post(url, again).status_code == 302
    assert (items(cart)[0]["display_name"], items(cart)[0]["quantity"]) == ("Calzone", 2)


def test_the_same_option_added_by_both_is_not_lost(lead: Client, cart: Cart) -> None:
    url = item_page(cart)
    row = {
        "display_name": "Olives",
        "price": "1",
        "option_set_key": "1",
        "option_set_item_key": "1",
    }
    sent = form_of(lead, url) | {f"options-1-{name}": value for name, value in row.items()}
    lead.post(url, sent)
    assert lead.post(url, sent | {"quantity": "4"}).status_code == 409
    lead.post(url, sent | {"quantity": "4", "version": "2"})
    assert [option["display_name"] for option in items(cart)[0]["options"]] == [
        "Extra mozzarella",
        "Olives",
    ]


@pytest.mark.parametrize(
    ("page", "choice", "button"),
    [
        ("{}/", "Saving it now replaces the above;", "Replace it with this"),
        ("{}/remove/", "The button below removes the item as it is now;", "Remove the item"),
        ("add/", "Saving it now adds the item to the cart as it is now;", "Save"),
    ],
)
def test_a_change_over_the_api_is_told(
    lead: Client, cart: Cart, page: str, choice: str, button: str
) -> None:
    sent = form_of(lead, item_page(cart))
    url = f"/admin/carts/cart/{cart.pk}/items/{page.format(items(cart)[0]['item_id'])}"
    Cart.objects.by(Author("bearer", "app")).add_item(cart.pk, ItemFactory())
    before = items(cart)
    response = lead.post(url, sent)
    assert response.status_code == 409
    assert "Add Item" in response.text
    assert choice in response.text
    assert f">{button}</button>" in response.text
    assert items(cart) == before


def test_who_saves_twice_is_not_told_of_somebody_else(lead: Client, cart: Cart) -> None:
    url = item_page(cart)
    sent = form_of(lead, url) | {"quantity": "3"}
    assert [lead.post(url, sent).status_code for _ in range(2)] == [302, 409]
    told = lead.post(url, sent).text
    assert "You have changed this cart since this page was opened." in told
    assert "Perhaps this was saved already" in told
    assert "Nothing was saved" not in told
    Cart.objects.by(Author("bearer", "anna")).add_item(cart.pk, ItemFactory())
    told = lead.post(url, sent).text
    assert "Somebody changed this cart" in told
    assert "Nothing was saved" in told
    assert Cart.objects.get().version == 3


def test_a_change_whose_record_is_no_longer_kept_may_be_somebody_elses(
    lead: Client, cart: Cart
) -> None:
    url = item_page(cart)
    sent = form_of(lead, url) | {"quantity": "3"}
    Cart.objects.by(Author("bearer", "app")).add_item(cart.pk, ItemFactory())
    carts = Cart.objects.by(Author("staff", "anna"))
    item_id = items(cart)[0]["item_id"]
    for _ in range(100):
        carts.replace_item(cart.pk, item_id, ItemFactory(display_name="x" * 100))
    response = lead.post(url, sent)
    assert {event.change.author_name for event in response.context["missed"]} == {"anna"}
    assert "Somebody changed this cart" in response.text


@pytest.mark.parametrize("version", ["", "x", "-1", "99", "9" * 30, None])
def test_a_version_that_is_none_changes_nothing(
    lead: Client, cart: Cart, unchanged: Callable[[], None], version: str | None
) -> None:
    unchanged()
    url = item_page(cart)
    sent = form_of(lead, url) | {"quantity": "5"}
    del sent["version"]
    response = lead.post(url, sent if version is None else sent | {"version": version})
    assert response.status_code == 409


def test_an_item_that_was_removed_meanwhile_is_not_brought_back(lead: Client, cart: Cart) -> None:
    url = item_page(cart)
    sent = form_of(lead, url)
    Cart.objects.remove_item(cart.pk, items(cart)[0]["item_id"])
    response = lead.post(url, sent | {"quantity": "5"}, follow=True)
    assert "Somebody has removed this item meanwhile" in response.text
    assert items(cart) == []


@pytest.mark.parametrize("page", ["", "remove/"])
def test_the_page_of_an_item_that_is_gone_leads_to_its_cart(
    lead: Client, cart: Cart, page: str
) -> None:
    url = item_page(cart) + page
    Cart.objects.remove_item(cart.pk, items(cart)[0]["item_id"])
    response = lead.get(url, follow=True)
    assert response.redirect_chain == [(page_of(cart), 302)]
    assert "Somebody has removed this item meanwhile" in response.text


@pytest.mark.parametrize("page", ["add/", "{}/", "{}/remove/"])
def test_a_cart_that_is_gone_is_told_once(lead: Client, cart: Cart, page: str) -> None:
    url = f"/admin/carts/cart/{cart.pk}/items/{page.format(items(cart)[0]['item_id'])}"
    Cart.objects.filter(pk=cart.pk).delete()
    response = lead.post(url, {"version": "1"}, follow=True)
    assert response.redirect_chain == [("/admin/carts/cart/", 302)]
    assert [str(message) for message in response.context["messages"]] == [
        "This cart was deleted meanwhile. Nothing was saved."
    ]
    assert lead.get(url).url == "/admin/carts/cart/"


def test_prices_are_logged_as_the_page_shows_them(lead: Client, cart: Cart) -> None:
    url = item_page(cart)
    lead.post(url, form_of(lead, url) | {"price": "1E+3", "options-0-price": "-0"})
    assert LogEntry.objects.get().change_message == (
        "Item “Pizza Margherita”: price 10.10 → 1,000.00; "
        "without Extra mozzarella, 1.25; with Extra mozzarella, 0.00"
    )


@pytest.mark.django_db(transaction=True)
def test_of_two_who_save_at_once_one_is_told(db: None) -> None:
    cart = CartFactory(items=[ItemFactory()])
    url = item_page(cart)
    clients = [staff("Cart support lead", name) for name in ("anna", "zoe")]
    forms = [form_of(client, url) for client in clients]
    barrier, statuses = Barrier(2), []

    def save(number: int) -> None:
        barrier.wait()
        sent = forms[number] | {"quantity": str(number + 5)}
        statuses.append(clients[number].post(url, sent).status_code)

    for thread in [in_background(partial(save, number)) for number in (0, 1)]:
        thread.join()
    assert sorted(statuses) == [302, 409]
    assert Cart.objects.get().version == 2
    assert LogEntry.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_a_cart_that_somebody_holds_is_not_changed(db: None, unchanged: Callable[[], None]) -> None:
    lead, cart = staff("Cart support lead"), CartFactory(items=[ItemFactory()])
    sent = form_of(lead, item_page(cart)) | {"quantity": "5"}
    unchanged()

    row = Cart.objects.filter(pk=cart.pk, profile_key=cart.profile_key)
    with held(lambda: list(row.select_for_update())):
        response = lead.post(item_page(cart), sent)

    assert response.status_code == 409
    assert "This cart could not be changed just now: somebody else is changing it" in response.text
    assert response.context["editor"]["quantity"].value() == "5"


@pytest.mark.parametrize("page", ["add/", "{}/", "{}/remove/"])
def test_who_may_only_view_is_refused(
    viewer: Client, cart: Cart, unchanged: Callable[[], None], page: str
) -> None:
    unchanged()
    url = f"/admin/carts/cart/{cart.pk}/items/{page.format(items(cart)[0]['item_id'])}"
    for response in (viewer.get(url), viewer.post(url, {"version": "1"})):
        assert response.status_code == 403
        assert "You may not do this" in response.text
    assert Client().get(url).url.startswith("/admin/login/")


def test_a_form_without_its_token_is_refused(
    db: None, cart: Cart, unchanged: Callable[[], None]
) -> None:
    unchanged()
    lead = staff("Cart support lead")
    lead.handler.enforce_csrf_checks = True
    response = lead.post(item_page(cart) + "remove/", {"version": "1"})
    assert response.status_code == 403
    assert "This form is out of date" in response.text


@pytest.mark.usefixtures("raised_limits")
def test_a_cart_of_500_items_opens_and_saves(lead: Client) -> None:
    cart = big_cart(500, 5)
    assert lead.get(page_of(cart)).context["part"]["total"] == 500
    url = item_page(cart, 499)
    assert lead.post(url, form_of(lead, url)).url == item_of(cart, 499)
    response = lead.post(url, form_of(lead, url) | {"quantity": "9"}, follow=True)
    assert response.redirect_chain == [(item_of(cart, 499), 302)]
    assert response.context["part"]["last"] == 500
    assert items(cart)[499]["quantity"] == 9


def test_an_item_of_100_options_opens_and_saves(lead: Client) -> None:
    cart = big_cart(1, 100)
    url = item_page(cart)
    assert lead.post(url, form_of(lead, url) | {"options-99-price": "7"}).status_code == 302
    assert items(cart)[0]["options"][99]["price"] == 7


def test_a_save_takes_16_queries(
    lead: Client, cart: Cart, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    url = item_page(cart)
    sent = form_of(lead, url) | {"quantity": "3"}
    ContentType.objects.clear_cache()  # an earlier test may have filled it
    with django_assert_num_queries(
        1  # the session
        + 1  # the user
        + 2  # the user's permissions, and those of the groups
        + 1  # the cart with all it holds
        + 2  # SAVEPOINT of the page and of the change
        + 2  # SELECT the cart and lock it, SELECT the item with its options
        + 2  # UPDATE the cart and the item
        + 1  # INSERT the record of the change
        + 1  # RELEASE the change's
        + 2  # the content type and the entry in the log of staff
        + 1  # RELEASE the page's
    ):
        response = lead.post(url, sent)
    assert (response.status_code, items(cart)[0]["quantity"]) == (302, 3)
