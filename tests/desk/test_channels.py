"""Change the channels of several carts at once."""

import re
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client

from carts.admin import channels_page
from carts.models import Cart
from carts.records import Closing
from tests.desk.conftest import CARTS, correct_page, marked, page_of, words
from tests.support.concurrency import open_transaction
from tests.support.factories import CartFactory, ItemFactory
from tests.support.table_contents import Unchanged

CHANNELS = f"{CARTS}channels/"


@pytest.fixture
def several(db: None) -> list[Cart]:
    contents: list[Any] = [CartFactory(items=[ItemFactory()]) for _ in range(3)]
    return [*contents, CartFactory(fulfilment_channel="PICKUP")]


def sent(carts: list[Cart], **values: str) -> dict[str, Any]:
    blank = dict.fromkeys(("fulfilment_channel", "ordering_channel", "platform", "why"), "")
    return {"cart": [str(cart.pk) for cart in carts], "list_query": "q=4711", **blank, **values}


def test_the_channels_of_what_was_selected_are_changed_after_a_preview(
    lead: Client, several: list[Cart]
) -> None:
    found = lead.get(CARTS, {"q": "4711"}).text
    assert f'<input type="checkbox" name="cart" value="{several[0].pk}"' in found
    assert 'name="list_query" value="q=4711"' in found

    chosen = {"cart": [str(cart.pk) for cart in several[1:]], "list_query": "q=4711"}
    asked = lead.post(CHANNELS, chosen)
    assert words(asked.text).count("DELIVERY · MOBILE · ios-app") == 2
    assert "Change channels" in asked.text

    typed = sent(several[1:], fulfilment_channel="PICKUP", why="The courier is ill")
    preview = lead.post(CHANNELS, typed)
    assert words(preview.text).count("fulfilment channel “DELIVERY” → “PICKUP”") == 2
    assert words(preview.text).count("stays as it is") == 1
    assert ">Change 2 carts</button>" in preview.text
    assert not LogEntry.objects.exists()
    assert {cart.version for cart in Cart.objects.all()} == {1}

    shown = re.findall('type="hidden" name="([a-z_]+)" value="([^"]*)"', preview.text)
    again: dict[str, Any] = {
        **dict(shown),
        "cart": [value for name, value in shown if name == "cart"],
    }
    done = lead.post(CHANNELS, again, follow=True)

    assert done.redirect_chain == [(f"{CARTS}?q=4711", 302)]
    assert "Carts changed: 2." in done.text
    kept, *changed, same = (Cart.objects.get(pk=cart.pk) for cart in several)
    assert (kept.fulfilment_channel, kept.version, same.version) == ("DELIVERY", 1, 1)
    for cart in changed:
        assert (cart.fulfilment_channel, cart.version) == ("PICKUP", 2)
        record = cart.changes.get()
        assert (record.operation, record.author.name) == ("Change Cart", "anna")
        assert record.why == "The courier is ill"
        entry = LogEntry.objects.get(object_id=str(cart.pk))
        assert marked(entry.change_message) == (
            "Cart: fulfilment channel “[DELIVERY]” → “[PICKUP]”. Why: “[The courier is ill]”"
        )
        assert entry.staff_entry.version == 2


def test_the_channels_of_other_carts_are_suggested(lead: Client, several: list[Cart]) -> None:
    asked = lead.post(CHANNELS, {"cart": str(several[0].pk)})
    for page in (asked, lead.get(correct_page(several[0]))):
        assert ' list="suggested-fulfilment_channel"' in page.text
        (seen,) = re.findall(
            '<datalist id="suggested-fulfilment_channel">(.*)</datalist>', page.text
        )
        assert re.findall('value="([^"]*)"', seen) == ["DELIVERY", "PICKUP"]
    for typed, new in (("PIKCUP", True), ("PICKUP", False)):
        preview = lead.post(CHANNELS, sent(several, fulfilment_channel=typed))
        assert ("None of the newest carts has “PIKCUP”." in words(preview.text)) == new


def test_the_page_tells_the_carts_apart(lead: Client, several: list[Cart]) -> None:
    several[1].add_item(**ItemFactory(display_name="Cola"))
    asked = lead.post(CHANNELS, {"cart": [str(cart.pk) for cart in several[1:]]})
    cart = Cart.objects.get(pk=several[1].pk)
    facts = f"restaurant {cart.restaurant_key} · Pizza Margherita, … · 40.40 EUR"
    assert f"{cart.pk} {facts} · customer {cart.profile_key}" in words(asked.text)
    assert f"restaurant {cart.restaurant_key} · empty · 0.00 EUR" in words(asked.text)


def test_closed_carts_are_left_alone(lead: Client, several: list[Cart]) -> None:
    closed, gone, cart = several[:3]
    Cart.objects.close_cart(closed.pk, Closing(outcome="ordered", reference="A-1"))
    Cart.objects.delete_cart(gone.pk)
    typed = sent(several[:3], platform="phone") | {"sure": "yes"}
    done = lead.post(CHANNELS, typed, follow=True)
    assert done.redirect_chain == [(f"{CARTS}?q=4711", 302)]
    assert "Carts changed: 1." in words(done.text)
    assert "could not be changed" not in done.text
    platforms = [Cart.objects.get(pk=one.pk).platform for one in (closed, cart)]
    assert platforms == ["ios-app", "phone"]
    assert LogEntry.objects.get().object_id == str(cart.pk)


def test_a_closed_cart_is_said_to_stay_before_anything_is_changed(
    lead: Client, several: list[Cart], unchanged: Unchanged
) -> None:
    for cart in several[:2]:
        Cart.objects.close_cart(cart.pk, Closing(outcome="ordered", reference="A-1"))
    unchanged()
    preview = lead.post(CHANNELS, sent(several, platform="phone"))
    assert words(preview.text).count("ordered, so it stays as it is") == 2
    assert ">Change 2 carts</button>" in preview.text
    closed = lead.post(CHANNELS, sent(several[:2], platform="phone"))
    assert "<button" not in closed.text.partition('class="lines"')[2]


def test_a_cart_that_changes_meanwhile_is_not_changed_by_an_old_preview(
    lead: Client, several: list[Cart], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the log of staff says was so must have been so."""
    told = channels_page.change_of

    def overtaken(*args: Any) -> str:
        found = told(*args)
        Cart.objects.change_cart(several[0].pk, {"platform": "kiosk"})
        return found

    monkeypatch.setattr(channels_page, "change_of", overtaken)
    answer = lead.post(CHANNELS, sent(several[:1], platform="phone") | {"sure": "yes"})
    assert "Carts that could not be changed: 1." in answer.text
    assert "The cart has moved on" in answer.text
    assert ">Back to the carts</a>" in answer.text
    assert ">Cancel</a>" not in answer.text
    assert Cart.objects.get(pk=several[0].pk).platform == "kiosk"
    assert not LogEntry.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_a_cart_that_somebody_holds_is_listed(
    lead: Client, several: list[Cart], unchanged: Unchanged
) -> None:
    busy = several[0]
    row = Cart.objects.filter(pk=busy.pk, profile_key=busy.profile_key)
    with open_transaction(lambda: list(row.select_for_update())):
        answer = lead.post(CHANNELS, sent([busy], platform="phone") | {"sure": "yes"})
    assert "This cart could not be changed just now" in answer.text


def test_the_page_asks_for_what_it_needs(
    lead: Client, several: list[Cart], unchanged: Unchanged
) -> None:
    for carts, values, text in (
        ([], {"platform": "phone"}, "No cart was selected."),
        (several, {}, "What is left empty stays as it is."),
        (several, {"platform": " "}, "must not be blank"),
        (several, {"platform": "x" * 51}, "longer than 50 characters"),
        (several, {"platform": "phone", "why": "a\nb"}, "U+000A: a control character"),
    ):
        typed = sent(carts, **values) | {"sure": "yes"}
        assert text in lead.post(CHANNELS, typed, follow=True).text
    for wrong in ({"cart": ["x", "\0", "9" * 999]}, {"list_query": "\r\nX: y"}, {}):
        assert lead.post(CHANNELS, wrong).url.startswith(f"{CARTS}?")
    assert lead.get(CHANNELS).url == f"{CARTS}?"


def test_who_may_only_view_selects_nothing(
    viewer: Client, several: list[Cart], unchanged: Unchanged
) -> None:
    assert 'type="checkbox"' not in viewer.get(CARTS).text
    assert viewer.post(CHANNELS, sent(several, platform="phone")).status_code == 403
    assert page_of(several[0]) in viewer.get(CARTS).text
