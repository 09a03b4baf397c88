"""What happens to a cart while a form of it is open, and is refused for another reason."""

import re
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client

from carts.admin import change_page as pages
from carts.models import Cart
from carts.records import Closing
from tests.desk.conftest import form_of, item_page, items, reopen_page
from tests.support.factories import CartFactory, ItemFactory


@pytest.fixture
def cart(db: None) -> Any:
    return CartFactory(items=[ItemFactory()])


def version_on(page: Any) -> str:
    """Return the version that the form of the page would send."""
    return re.findall('name="version" value="([0-9]+)"', page.text)[0]


def test_an_error_in_a_form_undoes_nothing_that_happened_meanwhile(
    lead: Client, cart: Cart
) -> None:
    url = item_page(cart)
    sent = form_of(lead, url) | {"price": "9,5x"}
    cart.items.get().change(quantity=7, special_instructions="NUT ALLERGY")

    refused = lead.post(url, sent)

    assert "Enter a number" in refused.text
    again = sent | {"version": version_on(refused), "price": "9.5"}
    assert lead.post(url, again).status_code == 302
    [item] = items(cart)
    assert (item["quantity"], item["special_instructions"]) == (7, "NUT ALLERGY")


def test_an_error_in_a_form_hides_no_conflict(lead: Client, cart: Cart) -> None:
    url = item_page(cart)
    sent = form_of(lead, url) | {"quantity": "3", "price": "9,5x"}
    cart.items.get().change(quantity=7)
    again = sent | {"version": version_on(lead.post(url, sent)), "price": "9.5"}
    clash = lead.post(url, again)
    assert clash.status_code == 409
    assert "Somebody else: quantity 2 → 7" in re.sub("<[^>]+>", "", clash.text)
    assert lead.post(url, again | {"version": version_on(clash)}).status_code == 302


def test_a_refusal_undoes_nothing_that_happened_meanwhile(lead: Client, cart: Cart) -> None:
    url = item_page(cart)
    sent = form_of(lead, url) | {"price": "7"}
    cart.items.get().change(quantity=7)
    cart.close(outcome="checkout", reference="pay-1")
    refused = lead.post(url, sent)
    assert "The cart is closed: checkout until" in refused.text
    cart.reopen()
    assert lead.post(url, sent | {"version": version_on(refused)}).status_code == 302
    [item] = items(cart)
    assert (item["quantity"], item["price"]) == (7, 7)


def test_a_reason_left_out_reopens_no_other_end_than_was_read(lead: Client, cart: Cart) -> None:
    cart.close(outcome="checkout", reference="pay-1")
    url = reopen_page(cart)
    opened = version_on(lead.get(url))
    Cart.objects.close_cart(cart.pk, Closing(outcome="ordered", reference="pay-1"))
    asked = lead.post(url, {"version": opened, "why": ""})
    clash = lead.post(url, {"version": version_on(asked), "why": "It failed"})
    assert clash.status_code == 409
    assert "This has changed since the page was opened" in clash.text
    assert Cart.objects.get().status == "ordered"
    assert not LogEntry.objects.exists()


def test_who_is_overtaken_again_and_again_is_asked_to_save_later(
    lead: Client, cart: Cart, monkeypatch: pytest.MonkeyPatch
) -> None:
    url, read, notes = item_page(cart), pages.items_of, iter(range(10))
    sent = form_of(lead, url) | {"price": "7"}

    def then_changed(text: str) -> Any:
        found = read(text)
        for number in notes:
            cart.change(note=f"Note {number}")
            break
        return found

    monkeypatch.setattr(pages, "items_of", then_changed)
    refused = lead.post(url, sent)
    assert refused.status_code == 409
    assert "Please save again." in refused.text
    assert not LogEntry.objects.exists()
    monkeypatch.undo()
    assert lead.post(url, sent | {"version": version_on(refused)}).status_code == 302
