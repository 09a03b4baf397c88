"""What may be typed into the fields of an item and a cart."""

from collections.abc import Callable

import pytest
from django.test import Client

from carts.models import Cart
from carts.records import Item, Option
from carts.templatetags import desk_filters
from tests.desk.conftest import correct_page, form_of, item_page, page_of, words
from tests.support.factories import CartFactory, ItemFactory
from tests.support.table_contents import Unchanged


@pytest.mark.parametrize(
    ("page", "name", "value", "text"),
    [
        (item_page, "quantity", "0", "must not be below 1."),
        (item_page, "quantity", "10000", "must not be above 9999."),
        (item_page, "quantity", "5.5", "Enter a whole number"),
        (item_page, "price", "1.23456", "must not have more than 4 decimals."),
        (item_page, "display_name", "   ", "must not be blank"),
        (item_page, "display_name", "x" * 101, "must not be longer than 100 characters"),
        (item_page, "display_name", "a\x1bb", "U+001B: a control character"),
        (item_page, "special_instructions", "x" * 301, "must not be longer than 300 characters"),
        (item_page, "menu_item_key", str(2**63), "must not be above"),
        (item_page, "options-0-display_name", "", "required"),
        (item_page, "options-0-option_set_key", str(-(2**63) - 1), "must not be below"),
        (correct_page, "platform", " ", "must not be blank"),
        (correct_page, "ordering_channel", "", "required"),
        (correct_page, "fulfilment_channel", "x" * 51, "must not be longer than 50 characters"),
        (correct_page, "note", "x" * 301, "must not be longer than 300 characters"),
        (correct_page, "special_instructions", "a\x1bb", "U+001B: a control character"),
    ],
)
def test_what_the_specification_refuses_is_refused_here(
    lead: Client,
    unchanged: Unchanged,
    page: Callable[[Cart], str],
    name: str,
    value: str,
    text: str,
) -> None:
    cart = CartFactory(items=[ItemFactory(with_option=True)])
    unchanged()
    response = lead.post(page(cart), form_of(lead, page(cart)) | {name: value})
    assert response.status_code == 200
    assert text in response.text
    assert response.text.count("<li>") - lead.get(page(cart)).text.count("<li>") <= 1  # told once


def test_every_field_of_an_item_can_be_seen_and_corrected(lead: Client, cart: Cart) -> None:
    """A field that is added later, too: what a form does not have would be taken away."""
    form, page = lead.get(item_page(cart)).context["editor"], words(lead.get(page_of(cart)).text)
    assert {*form.fields} == {*Item._fields} - {"currency", "options"}
    assert {*form.options.forms[0].fields} - {"DELETE"} == {*Option._fields} - {"currency"}
    for text in ("Menu key DINNER-2026", "Menu version 7", "Menu item key"):
        assert text in page


def test_menu_data_leaves_out_what_was_not_sent(
    lead: Client, cart: Cart, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(desk_filters, "IN_LINES", desk_filters.IN_LINES - {"special_instructions"})
    assert "Instructions for the kitchen None" not in words(lead.get(page_of(cart)).text)


def test_an_option_is_removed_as_an_item_is(lead: Client, cart: Cart) -> None:
    form = lead.get(item_page(cart)).text
    assert ">Remove:</label>" in form
    assert "Delete" not in form
