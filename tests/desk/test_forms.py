"""What every form of the desk does: it takes a reason, and it changes the cart that it shows."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client
from django.utils.html import escape

from carts.admin import items as pages
from carts.models import Cart
from tests.desk.conftest import CARTS, events, form_of, item_page, page_of, put_back_page
from tests.desk.test_cart import correct_page, delete_page
from tests.support.factories import CartFactory, ItemFactory

LABEL = "Why (optional, for staff only)"

# What the history says of a put-back before the reason given.
BACK = "Put back as before version 2"


@pytest.fixture
def cart(db: None) -> Any:
    cart = CartFactory(items=[ItemFactory()])
    cart.items.get().change(quantity=9)
    return cart


def typed(client: Client, cart: Cart) -> dict[str, dict[str, Any]]:
    """Return for each form of the desk what a browser would send."""
    item, add = item_page(cart), f"{CARTS}{cart.pk}/items/add/"
    correct = form_of(client, item) | {"quantity": "3"}
    shipped = {"platform": "ios-app", "ordering_channel": "WEB", "fulfilment_channel": "PICKUP"}
    return {
        item: correct,
        add: correct,
        f"{item}remove/": {"version": "2"},
        put_back_page(cart, 2): {"version": "2"},
        correct_page(cart): {**shipped, "version": "2"},
        delete_page(cart): {"version": "2"},
    }


FORMS = range(6)


@pytest.mark.parametrize("form", FORMS)
def test_every_form_takes_a_reason(lead: Client, cart: Cart, form: int) -> None:
    url, sent = list(typed(lead, cart).items())[form]
    assert LABEL in lead.get(url).text
    why = "<i>" + "\U0001f355" * 197
    assert lead.post(url, sent | {"why": f" {why} "}).status_code == 302
    if url == delete_page(cart):
        assert LogEntry.objects.get().change_message.endswith(f". Why: {why}")
        return
    told = f"{BACK}: {why}"[:200] if url == put_back_page(cart, 2) else why
    assert cart.changes.last().why == told
    assert events(lead, cart)[0].change.author.why == told
    assert f"Why: <bdi>{escape(told)}</bdi>" in lead.get(page_of(cart)).text


@pytest.mark.parametrize("form", FORMS)
def test_a_reason_may_be_left_out(lead: Client, cart: Cart, form: int) -> None:
    url, sent = list(typed(lead, cart).items())[form]
    assert lead.post(url, sent | {"why": " "}).status_code == 302
    if url == put_back_page(cart, 2):
        assert cart.changes.last().why == BACK
    elif cart.changes.exists():
        assert cart.changes.last().why is None
        assert "Why:" not in lead.get(page_of(cart)).text
    else:
        assert "Why" not in LogEntry.objects.get().change_message


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("why", "reason"),
    [
        ("x" * 201, "at most 200 characters (it has 201)"),
        ("a\nb", "control character U+000A"),
        ("a\x1bb", "control character U+001B"),
    ],
)
def test_a_reason_that_is_no_short_line_is_refused(
    lead: Client, cart: Cart, unchanged: Callable[[], None], form: int, why: str, reason: str
) -> None:
    url, sent = list(typed(lead, cart).items())[form]
    unchanged()
    response = lead.post(url, sent | {"why": why})
    assert response.status_code == 200
    assert reason in response.text
    assert not LogEntry.objects.exists()


@pytest.mark.parametrize("form", FORMS)
def test_a_change_at_the_last_moment_is_not_overwritten(
    lead: Client, cart: Cart, monkeypatch: pytest.MonkeyPatch, form: int
) -> None:
    """It comes after the page has read the cart, and before the cart is locked."""
    url, sent = list(typed(lead, cart).items())[form]
    read, late = pages.read, [{"note": "Ring twice"}]

    def then_changed(cart_id: Any) -> Any:
        found = read(cart_id)
        if late:
            Cart.objects.change_cart(cart_id, late.pop())
        return found

    monkeypatch.setattr(pages, "read", then_changed)
    response = lead.post(url, sent)
    assert response.status_code == 409
    assert [event.change.version for event in response.context["missed"]] == [3]
    cart.refresh_from_db()
    assert (cart.version, cart.note, cart.item_count) == (3, "Ring twice", 1)
    assert not LogEntry.objects.exists()
