"""The pages that change a cart itself and delete it."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.admin.models import CHANGE, DELETION, LogEntry
from django.contrib.auth.models import User
from django.test import Client

from carts.models import Cart, CartChange, CartItem, CartItemOption
from carts.models.change import Author
from tests.desk.conftest import CARTS, big_cart, events, item_page, page_of, staff
from tests.support.concurrency import held
from tests.support.factories import CartFactory, ItemFactory


def correct_page(cart: Cart) -> str:
    return f"{CARTS}{cart.pk}/correct/"


def delete_page(cart: Cart) -> str:
    return f"{CARTS}{cart.pk}/delete/"


def sent(client: Client, cart: Cart) -> dict[str, Any]:
    """Return what a browser would send if the form of the cart were submitted untouched."""
    context = client.get(correct_page(cart)).context
    values = {field.html_name: field.value() or "" for field in context["editor"]}
    return {**values, "version": context["cart"].version}


def test_note_instructions_and_channels_are_changed(lead: Client) -> None:
    cart = CartFactory(note="Invoice to the office", items=[ItemFactory()])
    typed = {
        "platform": "phone",
        "ordering_channel": "CALL-CENTRE",
        "fulfilment_channel": "PICKUP",
        "note": "",
        "special_instructions": "Ring twice\r\nSecond floor",
    }
    assert correct_page(cart) in lead.get(page_of(cart)).text
    response = lead.post(correct_page(cart), sent(lead, cart) | typed)
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
    assert (record.operation, record.author_kind, record.author_name) == (
        "Change Cart",
        "staff",
        "anna",
    )
    entry = LogEntry.objects.get()
    assert entry.action_flag == CHANGE
    assert entry.change_message == (
        "Cart: platform “ios-app” → “phone”; ordering channel “MOBILE” → “CALL-CENTRE”; "
        "fulfilment channel “DELIVERY” → “PICKUP”; "
        "note on the customer's invoice “Invoice to the office” → nothing; "
        "instructions for the kitchen nothing → “Ring twice\nSecond floor”"
    )
    # The page, the form, the history and the log of staff call a field alike.
    page, form = lead.get(page_of(cart)).text, lead.get(correct_page(cart)).text
    for name in ("Note on the customer's invoice", "Instructions for the kitchen"):
        assert f">{name}</dt>" in page.replace("&#x27;", "'")
        assert f">{name}:</label>" in form.replace("&#x27;", "'")
    assert entry.change_message == "Cart: " + "; ".join(events(lead, cart)[0].lines)


def test_texts_that_nobody_touched_stay_as_they_were_sent(lead: Client) -> None:
    cart = CartFactory(note="one\r\ntwo\n", special_instructions="", platform=" a ")
    untouched = sent(lead, cart) | {"note": "one\r\ntwo\r\n"}
    response = lead.post(correct_page(cart), untouched, follow=True)
    assert "Nothing was changed: it is like that already." in response.text
    assert Cart.objects.get().version == 1
    lead.post(correct_page(cart), untouched | {"fulfilment_channel": "PICKUP"})
    assert CartChange.objects.get().now == {"fulfilment_channel": "PICKUP"}


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("platform", " ", "cannot be blank"),
        ("ordering_channel", "", "required"),
        ("fulfilment_channel", "x" * 51, "at most 50 characters"),
        ("note", "x" * 301, "at most 300 characters"),
        ("special_instructions", "a\x1bb", "control character U+001B"),
    ],
)
def test_what_a_cart_cannot_be_is_refused(
    lead: Client, cart: Cart, unchanged: Callable[[], None], name: str, value: str, text: str
) -> None:
    typed = sent(lead, cart) | {name: value}
    unchanged()
    response = lead.post(correct_page(cart), typed)
    assert response.status_code == 200
    assert text in response.text
    assert not LogEntry.objects.exists()


def test_a_change_of_the_cart_meanwhile_is_shown_and_what_was_typed_is_kept(
    lead: Client, cart: Cart
) -> None:
    typed = sent(lead, cart) | {"note": "Thanks", "why": "She asked"}
    Cart.objects.by(Author("bearer", "app")).change_cart(cart.pk, {"note": "Danke"})
    response = lead.post(correct_page(cart), typed)
    assert response.status_code == 409
    for text in ("Somebody changed this cart", "“Danke”", "Thanks</textarea>", "She asked"):
        assert text in response.text
    assert Cart.objects.get().note == "Danke"
    assert lead.post(correct_page(cart), typed | {"version": "2"}).status_code == 302
    assert Cart.objects.get().note == "Thanks"


def test_a_cart_is_deleted_with_all_that_belongs_to_it(lead: Client, cart: Cart) -> None:
    other = CartFactory(items=[ItemFactory()])
    cart.add_item(**ItemFactory(display_name="Cola"))
    assert delete_page(cart) in lead.get(page_of(cart)).text

    asked = lead.get(delete_page(cart)).text

    for text in (
        str(cart.profile_key),
        "2 × Pizza Margherita, 10.10",
        "+ Extra mozzarella, 1.25",
        "2 × Cola, 10.10",
        "for 42.90 EUR",
        "with its history",
    ):
        assert text in asked
    assert Cart.objects.count() == 2

    response = lead.post(delete_page(cart), {"version": "2", "why": "A test order"}, follow=True)

    assert response.redirect_chain == [(CARTS, 302)]
    assert [str(message) for message in response.context["messages"]] == [
        f"Cart {cart.pk} deleted. Why: A test order."
    ]
    assert list(Cart.objects.all()) == [other]
    assert CartItem.objects.get().cart_id == other.pk
    assert not CartItemOption.objects.exists()
    assert not CartChange.objects.exists()
    entry = LogEntry.objects.get()
    assert (entry.user.username, entry.object_id) == ("anna", str(cart.pk))
    assert (entry.action_flag, entry.change_message) == (
        DELETION,
        f"Cart {cart.pk} deleted. Why: A test order",
    )


def test_the_id_of_a_deleted_cart_leads_to_who_deleted_it_and_why(
    viewer: Client, lead: Client, cart: Cart
) -> None:
    """A caller who asks where the cart has gone."""
    lead.post(delete_page(cart), {"version": "1", "why": "A test order"})
    log = f"{CARTS}{cart.pk}/history/"
    for way in (f"{CARTS}?q={cart.pk}", page_of(cart)):
        response = viewer.get(way, follow=True)
        assert response.redirect_chain[-1] == (log, 302)
        assert f"Cart {cart.pk} deleted. Why: A test order" in response.text
        assert '<bdi class="who">anna</bdi>' in response.text
        assert "This cart was deleted, and its history with it." in response.text
        assert f'href="{page_of(cart)}' not in response.text


@pytest.mark.parametrize("case", [str.upper, str.lower])
def test_the_address_of_a_deletion_is_in_either_case(
    lead: Client, cart: Cart, case: Callable[[str], str]
) -> None:
    """Django's own page would delete the instance, which the models refuse."""
    url = f"{CARTS}{case(str(cart.pk))}/delete/"
    assert "Delete this cart?" in lead.get(url).text
    assert lead.post(url, {"version": "1"}).url == CARTS
    assert LogEntry.objects.get().change_message == f"Cart {cart.pk} deleted"
    assert lead.get(f"{CARTS}nonsense/delete/").url == CARTS


def test_a_large_cart_is_deleted(lead: Client) -> None:
    cart = big_cart(40, 3)
    assert "… and 27 more" in lead.get(delete_page(cart)).text
    assert lead.post(delete_page(cart), {"version": "1"}).url == CARTS
    assert not Cart.objects.exists()


def test_a_cart_that_has_changed_meanwhile_is_not_deleted(lead: Client, cart: Cart) -> None:
    Cart.objects.by(Author("bearer", "app")).add_item(cart.pk, ItemFactory(display_name="Cola"))
    response = lead.post(delete_page(cart), {"version": "1"})
    assert response.status_code == 409
    assert "The button below deletes the cart as it is now;" in response.text
    assert "2 × Cola" in response.text
    assert Cart.objects.get() == cart
    assert not LogEntry.objects.exists()


def test_open_forms_of_others_say_that_the_cart_was_deleted(lead: Client, cart: Cart) -> None:
    zoe = staff("Cart support lead", "zoe")
    forms = [correct_page(cart), delete_page(cart), item_page(cart)]
    lead.post(delete_page(cart), {"version": "1"})
    for url in forms:
        for response in (zoe.post(url, {"version": "1"}, follow=True), zoe.get(url, follow=True)):
            assert response.redirect_chain == [(CARTS, 302)]
            assert "This cart was deleted meanwhile. Nothing was saved." in response.text


@pytest.mark.parametrize("url", [correct_page, delete_page])
def test_who_may_only_view_neither_changes_nor_deletes(
    viewer: Client, cart: Cart, unchanged: Callable[[], None], url: Callable[[Cart], str]
) -> None:
    assert url(cart) not in viewer.get(page_of(cart)).text
    unchanged()
    for response in (viewer.get(url(cart)), viewer.post(url(cart), {"version": "1"})):
        assert response.status_code == 403
    assert Client().get(url(cart)).url.startswith("/admin/login/")


def test_who_may_change_but_not_delete_sees_no_way_to_delete(
    lead: Client, cart: Cart, unchanged: Callable[[], None]
) -> None:
    group = User.objects.get(username="anna").groups.get()
    group.permissions.remove(group.permissions.get(codename="delete_cart"))
    unchanged()
    assert delete_page(cart) not in lead.get(page_of(cart)).text
    assert correct_page(cart) in lead.get(page_of(cart)).text
    assert lead.post(delete_page(cart), {"version": "1"}).status_code == 403


@pytest.mark.django_db(transaction=True)
def test_a_cart_that_somebody_holds_is_not_deleted(db: None, unchanged: Callable[[], None]) -> None:
    lead, cart = staff("Cart support lead"), CartFactory(items=[ItemFactory()])
    unchanged()
    row = Cart.objects.filter(pk=cart.pk, profile_key=cart.profile_key)
    with held(lambda: list(row.select_for_update())):
        response = lead.post(delete_page(cart), {"version": "1"})
    assert response.status_code == 409
    assert "somebody else is changing it" in response.text
