"""The pages that change a cart itself and delete it."""

import re
from uuid import UUID

from django.contrib.admin.models import CHANGE, DELETION, LogEntry
from django.test import Client

from carts.models import Cart, CartChange, CartItem, CartItemOption
from carts.models.cart_change import Author
from tests.desk.conftest import (
    CARTS,
    correct_page,
    delete_page,
    events,
    form_of,
    logged,
    page_of,
    words,
)
from tests.support.callers import PROFILE, Api
from tests.support.carts import created
from tests.support.factories import CartFactory, ItemFactory


def test_note_instructions_and_channels_are_changed(lead: Client) -> None:
    cart = CartFactory(note="Invoice to the office", items=[ItemFactory()])
    typed = {
        "platform": "phone",
        "ordering_channel": "CALL-CENTRE",
        "fulfilment_channel": "PICKUP",
        "note": "",
        "special_instructions": "Ring twice\r\nSecond floor",
    }
    response = lead.post(correct_page(cart), form_of(lead, correct_page(cart)) | typed)
    assert response.url == page_of(cart)
    modified_on = cart.modified_on
    cart.refresh_from_db()
    assert {name: getattr(cart, name) for name in typed} == typed | {
        "note": None,
        "special_instructions": "Ring twice\nSecond floor",
    }
    assert cart.version == 2
    assert cart.modified_on > modified_on
    record = cart.changes.get()
    assert record.operation == "Change Cart"
    assert (record.author_kind, record.author_name) == ("staff", "anna")
    entry = LogEntry.objects.get()
    assert entry.action_flag == CHANGE
    assert logged() == (
        "Cart: platform “[ios-app]” → “[phone]”; "
        "ordering channel “[MOBILE]” → “[CALL-CENTRE]”; "
        "fulfilment channel “[DELIVERY]” → “[PICKUP]”; "
        "note on the customer's invoice “[Invoice to the office]” → nothing; "
        "instructions for the kitchen nothing → “[Ring twice\nSecond floor]”"
    )
    # The page, the form, the history and the log of staff call a field alike.
    page, form = lead.get(page_of(cart)).text, lead.get(correct_page(cart)).text
    for name in ("Note on the customer's invoice", "Instructions for the kitchen"):
        assert f">{name}</dt>" in page.replace("&#x27;", "'")
        assert f">{name}:</label>" in form.replace("&#x27;", "'")
    assert entry.change_message == "Cart: " + "; ".join(events(lead, cart)[0].lines)


def test_texts_that_nobody_touched_stay_as_they_were_sent(lead: Client) -> None:
    cart = CartFactory(note="one\r\ntwo\n", special_instructions="", platform=" a ")
    untouched = form_of(lead, correct_page(cart)) | {"note": "one\r\ntwo\r\n"}
    response = lead.post(correct_page(cart), untouched, follow=True)
    assert "Nothing was changed: it is like that already." in response.text
    assert Cart.objects.get().version == 1
    lead.post(correct_page(cart), untouched | {"fulfilment_channel": "PICKUP"})
    assert CartChange.objects.get().new == {"fulfilment_channel": "PICKUP"}


def test_a_cart_is_deleted_with_all_that_belongs_to_it(lead: Client, cart: Cart) -> None:
    other = CartFactory(items=[ItemFactory()])
    cart.add_item(**ItemFactory(display_name="Cola"))
    asked = words(lead.get(delete_page(cart)).text)

    for text in (
        str(cart.profile_key),
        "2 × Pizza Margherita, 10.10",
        "+ Extra mozzarella, 1.25",
        "2 × Cola, 10.10",
        "· 42.90 EUR · restaurant 4711",
        "with its history",
    ):
        assert text in asked
    assert Cart.objects.count() == 2

    response = lead.post(delete_page(cart), {"version": "2", "why": "A test order"}, follow=True)

    assert response.redirect_chain == [(CARTS, 302)]
    assert [str(message) for message in response.context["messages"]] == [
        f"Cart {cart.pk} deleted."
    ]
    assert list(Cart.objects.all()) == [other]
    assert CartItem.objects.get().cart_id == other.pk
    assert not CartItemOption.objects.exists()
    assert not CartChange.objects.exists()
    entry = LogEntry.objects.get()
    assert (entry.user.username, entry.object_id) == ("anna", str(cart.pk))
    assert entry.action_flag == DELETION
    assert logged() == (
        f"Cart {cart.pk} deleted, 42.90 EUR, restaurant {cart.restaurant_key}: "
        "2 × [Pizza Margherita], 10.10; + [Extra mozzarella], 1.25; 2 × [Cola], 10.10. "
        "Why: “[A test order]”"
    )


def test_the_log_keeps_all_that_a_deleted_cart_was(lead: Client) -> None:
    contents = [ItemFactory(display_name=f"Dish {number}") for number in range(200)]
    texts = {"note": "Invoice to the office", "special_instructions": "Ring twice"}
    cart = CartFactory(restaurant_key=1002, items=contents, **texts)
    told = (
        "Note on the customer's invoice “[Invoice to the office]”",
        "Instructions for the kitchen “[Ring twice]”",
    )
    asked = words(lead.get(delete_page(cart)).text)
    assert all(re.sub(r"[\[\]]", "", text) in asked for text in told)
    lead.post(delete_page(cart), {"version": "1", "why": "A test order"})
    lines = [f"2 × [Dish {number}], 10.10" for number in range(200)]
    assert logged() == (
        f"Cart {cart.pk} deleted, 4,040.00 EUR, restaurant 1002: {'; '.join([*lines, *told])}. "
        "Why: “[A test order]”"
    )


def test_the_id_of_a_deleted_cart_leads_to_who_deleted_it_and_why(
    viewer: Client, lead: Client, cart: Cart
) -> None:
    """A caller who asks where the cart has gone."""
    CartFactory(id=UUID(int=cart.pk.int ^ 1))  # is not taken for it
    lead.post(delete_page(cart), {"version": "1", "why": "A test order"})
    log = f"{CARTS}{cart.pk}/history/"
    for way in (f"{CARTS}?q={cart.pk}", page_of(cart)):
        response = viewer.get(way, follow=True)
        assert response.redirect_chain[-1] == (log, 302)
        text = words(response.text)
        was = f"22.70 EUR, restaurant {cart.restaurant_key}: 2 × Pizza Margherita, 10.10;"
        assert f"Cart {cart.pk} deleted, {was}" in text
        assert "Why: “A test order”" in text
        assert re.search(
            rf"Cart {cart.pk} was deleted on .* UTC, and its history with it. "
            rf"Customer {cart.profile_key} By Staff anna",
            text,
        )
        assert f'href="{page_of(cart)}' not in response.text


def test_a_cart_that_a_customer_deleted_says_when_and_by_whom(viewer: Client, api: Api) -> None:
    cart_id = created(api)
    api.delete(f"/{cart_id}", X_Request_ID="request-1")
    direct = viewer.get(f"{CARTS}{cart_id}/change/", follow=True)
    assert direct.redirect_chain == [(f"{CARTS}{cart_id}/history/", 302)]
    assert "There is no cart" not in direct.text
    for way in (f"{CARTS}?q={cart_id}", f"{CARTS}{cart_id}/change/"):
        response = viewer.get(way, follow=True)
        text = words(response.text)
        assert re.search(rf"Cart {cart_id} was deleted on \d+ \w+ \d+, [0-9:]+ UTC", text)
        assert f"Customer {PROFILE}" in text
        assert "API partner-app · request request-1 · All carts of this customer" in text
        assert f'href="{CARTS}?profile_key={PROFILE}"' in response.text
        assert "What staff did" not in text
    Cart.objects.by(Author("shell", "cron")).delete_cart(other := UUID(created(api)))
    assert "Command line cron" in words(viewer.get(f"{CARTS}{other}/history/").text)


def test_the_address_of_a_deletion_may_be_in_upper_case(lead: Client, cart: Cart) -> None:
    """Django's own page would delete the instance, which the models refuse."""
    assert (
        lead.post(f"{CARTS}{str(cart.pk).upper()}/delete/", {"version": "1", "why": "x"}).url
        == CARTS
    )
    assert LogEntry.objects.get().change_message.startswith(f"Cart {cart.pk} deleted")
    assert lead.get(f"{CARTS}nonsense/delete/").url == CARTS
