"""Put it back: an item becomes again what it was before a change, as a change of its own."""

import re
from collections.abc import Callable
from decimal import Decimal
from operator import methodcaller
from typing import Any

import pytest
from django.test import Client
from pytest_django import Settings
from uuid_utils.compat import uuid7

from carts.models import Cart, CartChange
from carts.models.cart_change import Author, decoded, encoded
from carts.records import Closing, Item
from tests.desk.conftest import (
    events,
    item_of,
    items,
    logged,
    marked,
    page_of,
    put_back_page,
    when,
    words,
)
from tests.support.factories import CartFactory, ItemFactory, OptionFactory
from tests.support.table_contents import Unchanged, unguarded_rows


@pytest.fixture
def cart(db: None) -> Any:
    options = [
        OptionFactory(display_name=name, price=price)
        for name, price in (("Olives", Decimal("1.2345")), ("Speck", 0), ("Olives", Decimal(2)))
    ]
    naan = ItemFactory(
        display_name="  Garlic naan",
        price=Decimal("3.1001"),
        special_instructions="No\r\nonions ",
        options=options,
    )
    return CartFactory(items=[naan, ItemFactory(display_name="Cola")])


update = methodcaller("replace", **ItemFactory(display_name="Peshwari naan", price=4))
change = methodcaller("change", quantity=9, special_instructions=None)
remove = methodcaller("remove")


@pytest.mark.parametrize(
    ("made", "operation", "position"),
    [(update, "Update Item", 0), (change, "Update Item", 0), (remove, "Add Item", 1)],
)
def test_an_item_is_put_back_as_it_was(
    lead: Client, cart: Cart, made: Callable[..., None], operation: str, position: int
) -> None:
    before = items(cart)[0]
    subtotal = Cart.objects.get().subtotal
    made(cart.items.first())
    page = put_back_page(cart)
    assert f'href="{page}">Put it back<' in lead.get(page_of(cart)).text

    asked = lead.get(page)

    assert asked.status_code == 200
    assert Cart.objects.get().version == 2
    now, _, then = asked.text.partition("What it will be")
    assert ("It is not in the cart" in now) == (made is remove)
    assert ("<bdi>Peshwari naan</bdi>" in now) == (made is update)
    for text in ("2 × <bdi>  Garlic naan</bdi>", "+ <bdi>Speck</bdi>, 0.00", "12.6692", "onions"):
        assert text in then

    response = lead.post(page, {"version": "2", "why": "The caller changed her mind"})

    assert response.url == item_of(cart, position)
    assert items(cart)[position] == before
    cart.refresh_from_db()
    assert (cart.version, cart.subtotal) == (3, subtotal)
    record = cart.changes.last()
    assert (record.operation, record.item_id) == (operation, before["item_id"])
    why = f"Put back as before {when(cart)}: The caller changed her mind"
    assert record.author == Author("staff", "anna", record.request_id, why)
    assert logged() == (
        f"Item “[  Garlic naan]” put back as before {when(cart)}. "
        "Why: “[The caller changed her mind]”"
    )


def test_several_changes_are_undone_at_once(lead: Client, cart: Cart) -> None:
    before = items(cart)[0]
    for made in (change, update, remove):
        made(cart.items.get(pk=before["item_id"]))
    cart.items.first().remove()
    assert lead.post(put_back_page(cart, 3), {"version": "5"}).status_code == 302
    assert items(cart)[0]["quantity"] == 9
    assert items(cart)[0]["options"] == before["options"]
    assert lead.post(put_back_page(cart), {"version": "6"}).status_code == 302
    assert items(cart) == [before]


def test_a_put_back_says_what_else_it_undoes_and_whose(lead: Client, cart: Cart) -> None:
    first, second = cart.items.all()
    Cart.objects.by(Author("staff", "ben")).change_item(cart.pk, first.pk, {"quantity": 3})
    Cart.objects.by(Author("bearer", "app")).change_item(cart.pk, second.pk, {"quantity": 4})
    assert "later change" not in lead.get(put_back_page(cart)).text
    Cart.objects.by(Author("bearer", "kiosk-7")).change_item(cart.pk, first.pk, {"quantity": 5})
    page = lead.get(put_back_page(cart))
    assert "This undoes 1 later change as well:" in page.text
    assert [event.change.author_name for event in page.context["later"]] == ["kiosk-7"]
    first.remove()
    assert "This undoes 2 later changes as well:" in lead.get(put_back_page(cart)).text


def test_note_instructions_and_channels_are_put_back(lead: Client, cart: Cart) -> None:
    cart.change(note="Ring", fulfilment_channel="PICKUP")
    cart.items.first().change(quantity=7)
    cart.change(note="Knock", platform="phone")
    page = put_back_page(cart)
    asked = lead.get(page)
    assert "Put fulfilment channel and note on the customer&#x27;s invoice back?" in asked.text
    now, _, then = words(asked.text).partition("What it will be")
    for told, fulfilment, note in ((now, "“PICKUP”", "“Knock”"), (then, "“DELIVERY”", "nothing")):
        assert f"Fulfilment channel: {fulfilment}Note on the customer's invoice: {note}" in told
    assert [event.change.version for event in asked.context["later"]] == [4]

    response = lead.post(page, {"version": "4", "why": "A mistake"})

    assert response.url == page_of(cart)
    cart.refresh_from_db()
    assert (cart.note, cart.fulfilment_channel, cart.platform) == (None, "DELIVERY", "phone")
    record = cart.changes.last()
    assert (record.operation, record.why) == (
        "Change Cart",
        f"Put back as before {when(cart)}: A mistake",
    )
    assert logged() == (
        "Fulfilment channel and note on the customer's invoice put back as before "
        f"{when(cart)}. Why: “[A mistake]”"
    )
    assert items(cart)[0]["quantity"] == 7


def test_all_items_are_put_back(lead: Client, cart: Cart) -> None:
    before = items(cart)
    second = cart.items.last()
    kept = Item(**ItemFactory(display_name="Cola", quantity=6))
    new = Item(**ItemFactory(display_name="Water", options=[OptionFactory(display_name="Ice")]))
    Cart.objects.replace_items(cart.pk, {second.pk: kept, uuid7(): new})
    told = events(lead, cart)[0]
    assert told.change.operation == "Replace Items"
    lines = marked("|".join(told.lines))
    assert "removed 2 × [  Garlic naan], 3.1001|    + [Olives], 1.2345|" in lines
    assert "“[Cola]”: " in lines
    assert "quantity 2 → 6" in lines
    assert "added 2 × [Water], 10.10|    + [Ice], 1.25" in lines
    Cart.objects.add_items(cart.pk, {uuid7(): new})

    asked = lead.get(put_back_page(cart))
    now, _, then = words(asked.text).partition("What it will be")
    assert "Put all items back?" in asked.text
    assert "2 × Water, 10.10" in now
    assert "2 × Garlic naan, 3.1001" in then
    assert "This undoes 1 later change as well:" in asked.text
    assert lead.post(put_back_page(cart), {"version": "3"}).url == page_of(cart)

    assert items(cart) == before
    assert cart.changes.last().operation == "Replace Items"
    told = f"All items put back as before {when(cart)}"
    assert logged() == told


def test_an_item_that_is_so_already_is_not_written(
    lead: Client, cart: Cart, unchanged: Unchanged
) -> None:
    for quantity in (9, 2):
        cart.items.first().change(quantity=quantity)
    page = put_back_page(cart)
    unchanged()
    for response in (lead.get(page, follow=True), lead.post(page, {"version": "3"}, follow=True)):
        assert response.redirect_chain == [(item_of(cart), 302)]
        assert "Nothing was changed: it is like that already." in response.text


@pytest.mark.parametrize(
    ("limits", "currency", "reason"),
    [
        ({"MAX_ITEMS": 1}, "EUR", "There must not be more than 1 items in a cart."),
        ({"MAX_OPTIONS": 2}, "EUR", "There must not be more than 2 options on an item."),
        ({"MAX_CART_OPTIONS": 2}, "EUR", "more than 2 options in all items of a cart together."),
        ({}, "USD", "The cart&#x27;s currency is EUR."),
    ],
)
def test_what_does_not_fit_is_refused_with_the_reason(
    lead: Client,
    cart: Cart,
    unchanged: Unchanged,
    settings: Settings,
    limits: dict[str, int],
    currency: str,
    reason: str,
) -> None:
    cart.items.first().remove()
    removal = cart.changes.get()
    unguarded_rows(CartChange).update(before=removal.before.replace("EUR", currency))
    for name, limit in limits.items():
        setattr(settings, name, limit)
    unchanged()
    response = lead.post(put_back_page(cart), {"version": "2"})
    assert response.status_code == 409
    assert reason in response.text
    assert ">Put it back</button>" in response.text


def test_an_item_is_put_back_that_was_removed_before_a_field_existed(
    lead: Client, cart: Cart
) -> None:
    before = items(cart)[0]
    cart.items.first().remove()
    removal = cart.changes.get()
    members = decoded(removal.before)
    del members["special_instructions"], members["options"]
    unguarded_rows(CartChange).update(before=encoded(Item, members | {"gone_since": "x"}))
    assert lead.get(page_of(cart)).status_code == 200
    assert lead.post(put_back_page(cart), {"version": "2"}).status_code == 302
    back = items(cart)[-1]
    assert back == before | {"options": [], "special_instructions": None, "value": back["value"]}


@pytest.mark.parametrize("version", [1, 2, 6, 7, 99, 2**63, 10**30])
def test_there_is_nothing_to_put_back(
    lead: Client, cart: Cart, unchanged: Unchanged, version: int
) -> None:
    """Before what is not a change, an addition, or how the cart was closed."""
    cart.add_item(**ItemFactory())
    item = cart.items.first()
    for quantity in (8, 9):
        item.change(quantity=quantity)
    cart.change(note="Thanks")
    Cart.objects.close_cart(cart.pk, Closing(outcome="abandoned"))
    cart.reopen()
    assert re.findall(r"/before/(\d+)/", lead.get(page_of(cart)).text) == ["5", "4", "3"]
    unchanged()
    for response in (
        lead.get(put_back_page(cart, version)),
        lead.post(put_back_page(cart, version), {"version": "7"}),
    ):
        assert response.url == page_of(cart)


def test_a_change_too_old_to_be_kept_says_so(lead: Client, cart: Cart) -> None:
    item = cart.items.first()
    for number in range(101):
        item.change(quantity=number + 3)
    assert lead.get(put_back_page(cart, 3)).status_code == 200
    response = lead.post(put_back_page(cart), {"version": "102"}, follow=True)
    assert "Perhaps the change is too old to be kept, or too much has changed" in response.text
    assert "Nothing was saved." in response.text
    assert lead.post(put_back_page(cart, 3), {"version": "102"}).status_code == 302
    assert items(cart)[0]["quantity"] == 3
