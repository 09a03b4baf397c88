"""The history on a cart's page: what a caller asks has its answer there, without a click."""

from decimal import Decimal
from json import loads
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client

from carts.models import Cart, cart_change
from tests.desk.conftest import CARTS, big_cart, events, marked, page_of, put_back_page, words
from tests.support.factories import CartFactory, ItemFactory, OptionFactory, new_item


def test_a_creation_shows_the_items_of_then_in_their_order(viewer: Client) -> None:
    names = ["Soup", "Pizza", "Cola", "Gelato", "Coffee"]
    option = OptionFactory(display_name="Large")
    contents = [ItemFactory(display_name=name, quantity=1, options=[option]) for name in names]
    cart = CartFactory(items=contents)
    soup, pizza, cola, gelato, _ = cart.items.all()
    created = events(viewer, cart)[-1]
    assert [*map(marked, created.lines)] == [
        line for name in names for line in (f"1 × [{name}], 10.10", "    + [Large], 1.25")
    ]

    gelato.remove()
    soup.remove()
    pizza.change(quantity=5)
    pizza.replace(**ItemFactory(display_name="Calzone"))
    cart.add_item(**ItemFactory(display_name="Tea"))
    Cart.objects.add_item(cart.pk, soup.pk, new_item(display_name="Soup of the day"))
    cart.change(note="Thanks")
    cola.remove()

    still = events(viewer, cart)[-1]
    assert still.lines == created.lines
    for name in ("version", "at", "author", "operation", "item_id"):
        assert getattr(still.change, name) == getattr(created.change, name)


def test_a_creation_is_rebuilt_on_the_last_of_several_pages(viewer: Client) -> None:
    item = CartFactory(items=[ItemFactory(price=Decimal(5), quantity=1)]).items.get()
    for number in range(45):
        item.change(quantity=number + 2)
    assert "Create Cart" not in viewer.get(page_of(item.cart)).text
    last = events(viewer, item.cart, "?before=7")[-1]
    assert last.change.operation == "Create Cart"
    assert [*map(marked, last.lines)] == ["1 × [Pizza Margherita], 5.00"]


def test_of_a_large_creation_the_first_lines_are_shown(viewer: Client) -> None:
    created = events(viewer, big_cart(60, 3))[-1]
    # An item is one line, and so is each of its options.
    assert len(created.lines) == 53
    assert created.lines[-1] == "… and 47 more"


@pytest.mark.parametrize("share", [len('{"quantity":1}{"quantity":2}') + 1, 1])
def test_a_page_decodes_no_more_than_its_share(
    share: int, lead: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """But a first change, however large. What would take all of the history is not worked out."""
    cart = CartFactory(items=[ItemFactory(quantity=1)])
    for quantity in (2, 3, 4):
        cart.items.get().change(quantity=quantity)
    texts = list[str]()

    def decoded(text: str) -> Any:
        texts.append(text)
        return loads(text)

    monkeypatch.setattr(cart_change, "MAX_DECODED", share)
    monkeypatch.setattr(cart_change, "decoded", decoded)

    pages, address = [], ""
    for _ in range(3):
        texts.clear()
        timeline = lead.get(f"{page_of(cart)}{address}").context["timeline"]
        assert len([*filter(None, texts)]) == 2
        shown = timeline["events"]
        pages.append([(one.change.version, [*map(marked, one.lines)]) for one in shown])
        address = f"?before={timeline.get('earlier')}"

    assert pages == [
        [(4, ["quantity 3 → 4"])],
        [(3, ["quantity 2 → 3"])],
        [
            (2, ["quantity 1 → 2"]),
            (1, ["what it was created with is not worked out: too much has changed since"]),
        ],
    ]
    assert lead.get(put_back_page(cart, 4)).status_code == 200
    response = lead.get(put_back_page(cart, 2), follow=True)
    assert "or too much has changed since to work it out." in response.text


def test_a_note_stands_in_the_history_and_changes_nothing(
    lead: Client, viewer: Client, cart: Cart
) -> None:
    page = f"{CARTS}{cart.pk}/note/"
    item = cart.items.get()
    item.change(quantity=5)
    assert f'href="{page}">Add a note</a>' in lead.get(page_of(cart)).text
    sent = {"version": "2", "why": "Called, promised a refund"}
    item.change(quantity=6)
    assert lead.post(page, sent).url == page_of(cart)
    item.change(quantity=7)

    shown = viewer.get(page_of(cart))
    told = words(shown.text)
    assert told.index("quantity 6 → 7") < told.index("Note: “Called, promised a refund”")
    assert told.index("“Called, promised a refund”") < told.index("quantity 5 → 6")
    assert "· Staff anna" in told
    assert Cart.objects.get().version == 4
    assert cart.changes.count() == 3
    assert "Note: “Called, promised a refund”" in words(lead.get(f"{CARTS}activity/").text)
    assert LogEntry.objects.get().staff_entry.version == 3

    for wrong, text in (("", "This field is required."), ("a\nb", "U+000A: a control character")):
        assert text in lead.post(page, sent | {"why": wrong}).text
    assert f'href="{page}"' not in shown.text
    assert LogEntry.objects.count() == 1


def test_a_note_to_a_change_that_is_no_longer_kept_stands_above_the_creation(
    lead: Client, cart: Cart
) -> None:
    item = cart.items.get()
    for quantity in range(3, 5):
        item.change(quantity=quantity)
    page = f"{CARTS}{cart.pk}/note/"
    lead.post(page, {"version": "3", "why": "Promised a refund"}, follow=True)
    for quantity in range(5, 107):
        item.change(quantity=quantity)
    assert "Promised a refund" not in lead.get(page_of(cart)).text
    oldest = words(lead.get(f"{page_of(cart)}?before=10").text)
    assert "4 changes after the creation are no longer kept." in oldest
    assert oldest.index("quantity 6 → 7") < oldest.index("“Promised a refund”")
    assert oldest.index("“Promised a refund”") < oldest.index("Create Cart")

    # The log leads to where its event stood.
    event = f"{page_of(cart)}?before=4#version-3"
    assert f'href="{event}">Cart' in lead.get(f"{CARTS}activity/").text
    shown = words(lead.get(event).text)
    assert "“Promised a refund”" in shown
    assert "2 changes after the creation are no longer kept." in shown
