"""The end of a cart at the desk: what staff see, find, reopen and close."""

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client
from django.utils import timezone

from carts.models import Cart, StaffEntry
from tests.desk.conftest import (
    CARTS,
    abandon_page,
    add_page,
    correct_page,
    delete_page,
    form_of,
    item_page,
    items,
    note_page,
    page_of,
    remove_page,
    reopen_page,
    words,
)
from tests.support.factories import CartFactory, ItemFactory
from tests.support.table_contents import Unchanged, unguarded_rows

ORDER = "ORD-2026/4711"


def page(client: Client, cart: Cart) -> str:
    text = re.sub("</?bdi[^>]*>", "", client.get(page_of(cart)).text)
    return " ".join(re.sub("<[^>]+>", " ", text).split())


def closed(cart: Cart, outcome: str = "ordered") -> Cart:
    cart.close(outcome=outcome, reference=ORDER)
    return cart


@pytest.mark.parametrize("outcome", ["checkout", "ordered", "abandoned"])
def test_a_closed_cart_says_so_and_offers_no_change(lead: Client, cart: Cart, outcome: str) -> None:
    cart.change(note="x")
    item = cart.items.get()
    item.change(quantity=3)
    before = lead.get(page_of(cart)).text
    offered = ("Correct<", "Remove<", "Add an item<", "Put it back<", "Delete this cart<")
    assert all(text in before for text in (*offered, "Close as abandoned<"))

    closed(cart, outcome)

    text = lead.get(page_of(cart)).text
    assert not [one for one in (*offered, "Close as abandoned<") if one in text]
    assert ("A closed cart cannot be changed." in text, "A closed cart" in before) == (True, False)
    bound, said = ("until", f"in {outcome}") if outcome == "checkout" else ("since", outcome)
    assert f"Status {outcome} {ORDER} {bound} " in page(lead, cart)
    asked = words(lead.get(reopen_page(cart)).text)
    assert f"This cart is {said}, with the reference {ORDER}. Once it is open," in asked
    assert f'href="{reopen_page(cart)}"' in text
    assert f"status “open” → “{outcome}”" in page(lead, cart)
    assert f"reference nothing → “{ORDER}”" in page(lead, cart)


def test_a_checkout_that_has_run_out_is_an_open_cart(lead: Client, cart: Cart) -> None:
    closed(cart, "checkout")
    past = timezone.now() - timedelta(seconds=1)
    unguarded_rows(Cart).filter(pk=cart.pk).update(closed_until=past)
    ended = f"checkout {ORDER} ended {past:%-d %b %Y, %H:%M %Z}"
    assert f"Status open not known to be ordered; {ended}" in page(lead, cart)
    assert "Correct<" in lead.get(page_of(cart)).text
    found = lead.get(CARTS, {"status": "open"}).text
    assert str(cart.pk) in found


def test_a_cart_is_reopened_with_a_reason(lead: Client, cart: Cart) -> None:
    closed(cart)
    url = reopen_page(cart)
    assert "ordered" in lead.get(url).text

    refused = lead.post(url, {"version": 2, "why": ""})
    assert "This field is required." in refused.text
    assert Cart.objects.get().status == "ordered"

    response = lead.post(url, {"version": 2, "why": "Paid twice"}, follow=True)
    assert f"Cart reopened: it was ordered, “{ORDER}”." in re.sub("<[^>]+>", "", response.text)
    cart = Cart.objects.get()
    assert (cart.status, cart.reference, cart.closed_on) == ("open", None, None)
    change = cart.changes.get(version=3)
    assert (change.operation, change.why, change.author_name) == (
        "Reopen Cart",
        "Paid twice",
        "anna",
    )
    assert LogEntry.objects.get().object_id == str(cart.pk)


def test_staffs_log_leads_to_the_event(lead: Client, cart: Cart) -> None:
    lead.post(abandon_page(cart), {"version": 1, "why": ""})
    lead.post(reopen_page(cart), {"version": 2, "why": "She called"})
    assert [entry.version for entry in StaffEntry.objects.order_by("pk")] == [2, 3]
    abandoned = cart.changes.get(version=2).new
    assert (abandoned["status"], abandoned.get("reference")) == ("abandoned", None)
    log = lead.get(f"{page_of(cart)}?staff").text
    for version in (2, 3):
        assert f'href="{page_of(cart)}?before={version + 1}#version-{version}">The event' in log


def test_a_form_whose_cart_was_closed_leads_to_reopen_it(lead: Client, cart: Cart) -> None:
    url = item_page(cart)
    sent = form_of(lead, url) | {"special_instructions": "No basil"}
    closed(cart)
    refused = lead.post(url, sent)
    assert refused.status_code == 409
    link = f'<a href="{CARTS}{cart.pk}/reopen/" target="_blank">Reopen the cart</a>'
    assert link in refused.text
    assert "No basil</textarea>" in refused.text
    cart.reopen()
    assert lead.post(url, sent).status_code == 302
    assert items(cart)[0]["special_instructions"] == "No basil"


def test_an_open_cart_is_not_reopened(lead: Client, cart: Cart) -> None:
    for answer in (lead.get, lead.post):
        response = answer(reopen_page(cart), {"version": 1, "why": "x"}, follow=True)
        assert response.redirect_chain == [(page_of(cart), 302)]
        assert "This cart is open already." in response.text
    assert Cart.objects.get().version == 1


def test_the_number_of_an_order_finds_its_cart_and_is_shown(lead: Client, cart: Cart) -> None:
    CartFactory(profile_key=cart.profile_key)
    cart.close(outcome="ordered", reference="payment-1", order_reference="2026-0815")
    response = lead.get(CARTS, {"q": "#2026-0815"})
    assert response.headers["Location"].startswith(page_of(cart))
    text = page(lead, cart)
    assert "Status ordered payment-1 · order 2026-0815 since " in text
    assert "order reference nothing → “2026-0815”" in text
    listed = re.sub("<[^>]+>", "", lead.get(CARTS, {"q": str(cart.profile_key)}).text)
    assert "payment-1 · order 2026-0815" in listed

    reopening = reopen_page(cart)
    asked = re.sub("<[^>]+>", "", lead.get(reopening).text)
    assert "with the reference payment-1 and the order's number 2026-0815." in asked
    done = lead.post(reopening, {"version": 2, "why": "x"}, follow=True)
    words = "Cart reopened: it was ordered, “payment-1”, “2026-0815”."
    assert words in re.sub("<[^>]+>", "", done.text)
    assert "order reference “2026-0815” → nothing" in page(lead, cart)


@pytest.mark.parametrize(
    ("reference", "typed"),
    [
        *((text, f" {text} ") for text in (ORDER, "1002", "7b2f6c1e-9d3f-4c60-8f6f-0b8f6f1e2a34")),
        *(("PAY-2026-0001", text) for text in ("pay-2026-0001", "#PAY-2026-0001")),
    ],
)
def test_a_reference_finds_its_cart_however_it_is_typed(
    viewer: Client, cart: Cart, reference: str, typed: str
) -> None:
    CartFactory().close(outcome="ordered", reference="PAY-2026-0002")
    cart.close(outcome="checkout", reference=reference)
    assert viewer.get(CARTS, {"q": typed}).url.startswith(page_of(cart))


@pytest.mark.parametrize(
    "form", [correct_page, delete_page, abandon_page, add_page, item_page, remove_page]
)
def test_a_form_of_a_closed_cart_says_what_to_do_first(
    lead: Client, cart: Cart, unchanged: Unchanged, form: Callable[[Cart], str]
) -> None:
    url, sent = form(cart), form_of(lead, item_page(cart)) | form_of(lead, correct_page(cart))
    closed(cart)
    unchanged()
    asked = lead.get(url, follow=True)
    assert asked.redirect_chain == [(page_of(cart), 302)]
    refused = lead.post(url, sent | {"quantity": "9", "note": "x", "why": "x"})
    assert refused.status_code == 409
    for text in ("The cart is closed: ordered since", "Reopen it first"):
        assert text in asked.text
        assert text in refused.text
    for text in ("The button below", ">Close as abandoned</button>"):
        assert text not in refused.text
    assert lead.get(note_page(cart)).status_code == 200


def test_times_of_a_closed_cart_are_those_of_the_viewer(lead: Client, cart: Cart) -> None:
    cart.close(outcome="checkout", reference=ORDER)
    cart.reopen()
    closed(cart, "checkout")
    until = cart.state.closed_until.astimezone(ZoneInfo("America/New_York"))
    words = f"{until:%-d %b %Y, %H:%M %Z}"
    lead.cookies["timezone"] = "America/New_York"

    refused = lead.post(abandon_page(cart), {"version": 4, "why": ""})

    assert f"The cart is closed: checkout until {words}. Reopen it first" in refused.text
    assert f"closed until nothing → {words}" in page(lead, cart)


def test_the_history_says_what_came_went_and_differs(lead: Client, cart: Cart) -> None:
    cart.add_items([ItemFactory(display_name="Soup"), ItemFactory(display_name="Tea")])
    [pizza, soup, _] = cart.items.all()
    kept = {**items(cart)[0], "id": pizza.pk}
    for name in ("item_id", "value", "position"):
        kept.pop(name, None)
    cart.replace_items([ItemFactory(display_name="Wine"), {**kept, "quantity": 7}])

    text = page(lead, cart)
    for told in (
        "Add Items",
        "added 2 × Soup",
        "added 2 × Tea",
        "Replace Items",
        "added 2 × Wine",
    ):
        assert told in text
    assert "removed 2 × Soup" in text
    assert f"“{pizza.display_name}”: quantity 2 → 7" in text
    assert soup.pk not in cart.items.values_list("pk", flat=True)
    assert "Create Cart 2 × Pizza Margherita" in text


def test_a_reference_that_a_cart_had_before_it_was_reopened_finds_it(
    viewer: Client, cart: Cart
) -> None:
    cart.close(outcome="checkout", reference="payment-4711")
    assert viewer.get(CARTS, {"q": "payment-4711"}).url == page_of(cart)
    cart.reopen()
    response: Any = viewer.get(CARTS, {"q": "payment-4711"})
    assert response.context["result"].carts == [cart]
    assert "as it was once" in response.text
