"""Put it back: an item becomes again what it was before a change, as a change of its own."""

import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client

from carts.models import Cart
from carts.models.change import Author
from tests.desk.conftest import CARTS, events, item_of, items, page_of, put_back_page
from tests.support.factories import CartFactory, ItemFactory, OptionFactory

BY_API = Author("bearer", "kiosk-7")


@pytest.fixture
def cart(db: None) -> Any:
    options = [
        OptionFactory(display_name=name, price=price)
        for name, price in (("Olives", Decimal("1.2345")), ("Speck", 0), ("Olives", Decimal(2)))
    ]
    return CartFactory(
        items=[
            ItemFactory(
                display_name="  Garlic naan",
                price=Decimal("3.1001"),
                special_instructions="No\r\nonions ",
                options=options,
            ),
            ItemFactory(display_name="Cola"),
        ]
    )


def update(carts: Any, cart: Cart, item_id: Any) -> None:
    carts.replace_item(cart.pk, item_id, ItemFactory(display_name="Peshwari naan", price=4))


def change(carts: Any, cart: Cart, item_id: Any) -> None:
    carts.change_item(cart.pk, item_id, {"quantity": 9, "special_instructions": None})


def remove(carts: Any, cart: Cart, item_id: Any) -> None:
    carts.remove_item(cart.pk, item_id)


@pytest.mark.parametrize(
    ("made", "operation", "position"),
    [(update, "Update Item", 0), (change, "Update Item", 0), (remove, "Add Item", 1)],
)
def test_an_item_is_put_back_as_it_was(
    lead: Client, cart: Cart, made: Callable[..., None], operation: str, position: int
) -> None:
    before = items(cart)[0]
    cart.refresh_from_db()
    subtotal = cart.subtotal
    made(Cart.objects.by(BY_API), cart, before["item_id"])
    page = put_back_page(cart, 2)
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
    why = "Put back as before version 2: The caller changed her mind"
    assert record.author == Author("staff", "anna", record.request_id, why)
    assert f"Why: <bdi>{why}</bdi>" in lead.get(page_of(cart)).text
    assert LogEntry.objects.get().change_message == (
        "Item “  Garlic naan” put back as it was before version 2"
    )


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("", "Put back as before version 2"),
        ("x" * 200, f"Put back as before version 2: {'x' * 170}"),
    ],
)
def test_the_history_says_that_an_item_was_put_back(
    lead: Client, cart: Cart, given: str, told: str
) -> None:
    remove(Cart.objects, cart, items(cart)[0]["item_id"])
    assert lead.post(put_back_page(cart, 2), {"version": "2", "why": given}).status_code == 302
    assert events(lead, cart)[0].change.author.why == told


def test_several_changes_are_undone_at_once(lead: Client, cart: Cart) -> None:
    before = items(cart)[0]
    for made in (change, update, remove):
        made(Cart.objects, cart, before["item_id"])
    Cart.objects.remove_item(cart.pk, items(cart)[0]["item_id"])
    assert lead.post(put_back_page(cart, 3), {"version": "5"}).status_code == 302
    assert items(cart)[0]["quantity"] == 9
    assert items(cart)[0]["options"] == before["options"]
    assert lead.post(put_back_page(cart, 2), {"version": "6"}).status_code == 302
    assert items(cart) == [before]


@pytest.mark.parametrize("sent", [None, {"version": "3"}])
def test_an_item_that_is_so_already_is_not_written(
    lead: Client, cart: Cart, unchanged: Callable[[], None], sent: dict[str, str] | None
) -> None:
    item_id = items(cart)[0]["item_id"]
    for quantity in (9, 2):
        Cart.objects.change_item(cart.pk, item_id, {"quantity": quantity})
    page = put_back_page(cart, 2)
    lead.get(page_of(cart))  # sessions are stored
    unchanged()
    response = lead.post(page, sent, follow=True) if sent else lead.get(page, follow=True)
    assert response.redirect_chain == [(item_of(cart), 302)]
    assert "Nothing was changed: it is like that already." in response.text


def full(settings: Any, cart: Cart) -> None:
    settings.MAX_ITEMS = 1


def few_options(settings: Any, cart: Cart) -> None:
    settings.MAX_OPTIONS = 2


def few_in_all(settings: Any, cart: Cart) -> None:
    settings.MAX_CART_OPTIONS = 2


def withdrawn(settings: Any, cart: Cart) -> None:
    """Let the item be in a currency that ISO 4217 has withdrawn since."""
    record = cart.changes.get()
    cart.changes.all().update(before=record.before.replace("EUR", "ROL"))


def elsewhere(settings: Any, cart: Cart) -> None:
    """Let the item's record be of another currency than the cart."""
    record = cart.changes.get()
    cart.changes.all().update(before=record.before.replace("EUR", "USD"))


def taken(settings: Any, cart: Cart) -> None:
    CartFactory().add_item(id=cart.changes.get().item_id, **ItemFactory())


@pytest.mark.parametrize(
    ("obstacle", "reason"),
    [
        (full, "The cart holds 1 items already."),
        (few_options, "There must not be more than 2 options on an item."),
        (few_in_all, "There must not be more than 2 options in all items of a cart together."),
        (withdrawn, "This is not an upper-case currency code of ISO 4217, such as EUR."),
        (elsewhere, "The cart&#x27;s currency is EUR."),
        (taken, "There is an item with this id already."),
    ],
)
def test_what_does_not_fit_is_refused_with_the_reason(
    lead: Client,
    cart: Cart,
    unchanged: Callable[[], None],
    settings: Any,
    obstacle: Callable[..., None],
    reason: str,
) -> None:
    cart.items.first().remove()
    obstacle(settings, cart)
    unchanged()
    response = lead.post(put_back_page(cart, 2), {"version": "2"})
    assert response.status_code == 409
    assert reason in response.text
    assert ">Put it back</button>" in response.text
    assert not LogEntry.objects.exists()


def test_a_change_meanwhile_is_shown_before_an_item_is_put_back(lead: Client, cart: Cart) -> None:
    first, second = cart.items.all()
    first.remove()
    Cart.objects.by(BY_API).remove_item(cart.pk, second.pk)
    response = lead.post(put_back_page(cart, 2), {"version": "2"})
    assert response.status_code == 409
    assert [event.change.version for event in response.context["missed"]] == [3]
    assert "The button below puts the item back all the same;" in response.text
    assert not cart.items.exists()
    # Only the history on the cart's page offers to undo.
    assert "/before/3/" not in response.text


@pytest.mark.parametrize("version", [1, 2, 5, 99, 2**63, 10**30])
def test_there_is_nothing_to_put_back(
    lead: Client, cart: Cart, unchanged: Callable[[], None], version: int
) -> None:
    """Before what is not a change, an addition or a change of the cart itself."""
    cart.add_item(**ItemFactory())
    item = cart.items.first()
    for quantity in (8, 9):
        item.change(quantity=quantity)
    cart.change(note="Thanks")
    assert re.findall(r"/before/(\d+)/", lead.get(page_of(cart)).text) == ["4", "3"]
    unchanged()
    for response in (
        lead.get(put_back_page(cart, version)),
        lead.post(put_back_page(cart, version), {"version": "5"}),
    ):
        assert response.url == page_of(cart)


def test_a_change_too_old_to_be_kept_says_so(lead: Client, cart: Cart) -> None:
    item = cart.items.first()
    for number in range(101):
        item.change(quantity=number + 3)
    assert lead.get(put_back_page(cart, 3)).status_code == 200
    response = lead.post(put_back_page(cart, 2), {"version": "102"}, follow=True)
    assert "Perhaps the change is too old to be kept. Nothing was saved." in response.text
    assert lead.post(put_back_page(cart, 3), {"version": "102"}).status_code == 302
    assert items(cart)[0]["quantity"] == 3


def test_the_history_offers_a_viewer_nothing_to_undo(
    viewer: Client, cart: Cart, unchanged: Callable[[], None]
) -> None:
    cart.items.first().remove()
    assert "Put it back" not in viewer.get(page_of(cart)).text
    unchanged()
    page = put_back_page(cart, 2)
    assert viewer.get(page).status_code == viewer.post(page, {"version": "2"}).status_code == 403
    assert Client().get(page).url.startswith("/admin/login/")


def test_a_cart_that_is_gone_has_nothing_to_put_back(lead: Client, cart: Cart) -> None:
    cart.items.first().remove()
    Cart.objects.delete_cart(cart.pk)
    response = lead.post(put_back_page(cart, 2), {"version": "2"}, follow=True)
    assert "This cart was deleted meanwhile. Nothing was saved." in response.text
    assert lead.get(put_back_page(cart, 2)).url == CARTS
