"""Change the channels of several carts at once."""

import re
from html import unescape
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client

from carts.admin import channels_page, many_carts_page
from carts.models import Cart
from carts.models.cart_change import Author
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
    return {"cart": [str(cart.pk) for cart in carts], **blank, **values}


def form_in(page: Any) -> dict[str, Any]:
    """Return what a browser would send if the page's form were submitted untouched."""
    main = page.text.partition('class="item-form"')[2]
    hidden = re.findall('type="hidden" name="([a-z_]+)" value="([^"]*)"', main)
    shown = [(name, unescape(value)) for name, value in hidden]
    return {**dict(shown), "cart": [value for name, value in shown if name == "cart"]}


def groups(page: Any) -> dict[str, list[Any]]:
    """Return the carts that stand together on the page, by what it says of all of them."""
    parts = [part.partition("</h2>") for part in page.text.split('<h2 class="same">')[1:]]
    ids = 'class="key">([0-9a-f-]{36})</a>'
    return {
        words(said): [Cart(pk=UUID(key)) for key in re.findall(ids, carts)]
        for said, _, carts in parts
    }


def url_of(page: Any) -> str:
    """Return the address to which the page's form is sent: its own."""
    return f"{page.request['PATH_INFO']}?{page.request['QUERY_STRING']}"


def test_the_channels_of_what_was_selected_are_changed_after_a_preview(
    lead: Client, several: list[Cart]
) -> None:
    found = lead.get(CARTS, {"q": "4711"}).text
    assert f'<input type="checkbox" name="cart" value="{several[0].pk}"' in found
    url = f"{CHANNELS}?q=4711"
    assert f'action="{url}"' in found

    asked = lead.post(url, {"cart": [str(cart.pk) for cart in several[1:]]})
    assert "2 carts: DELIVERY · MOBILE · ios-app" in words(asked.text)
    assert "Change channels" in asked.text

    typed = sent(several[1:], fulfilment_channel="PICKUP", why="The courier is ill")
    preview = lead.post(url, typed)
    changes = {"2 carts: fulfilment channel “DELIVERY” → “PICKUP”": several[2:0:-1]}
    assert groups(preview) == {**changes, "1 cart: stays as it is": several[3:]}
    # However many carts there are, the button is on the first screen.
    assert preview.text.index(">Change 2 carts</button>") < preview.text.index("2 carts:")
    assert ">Change 2 carts</button>" in preview.text
    assert not LogEntry.objects.exists()
    assert {cart.version for cart in Cart.objects.all()} == {1}

    done = lead.post(url, form_in(preview), follow=True)

    assert done.redirect_chain == [(f"{CARTS}?q=4711", 302)]
    assert "Carts changed: 2." in done.text
    assert "Left as they are, as the preview said: 1." in done.text
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


def test_the_page_tells_the_carts_apart(lead: Client, several: list[Cart]) -> None:
    several[1].add_item(**ItemFactory(display_name="Cola"))
    asked = lead.post(CHANNELS, {"cart": [str(cart.pk) for cart in several[1:]]})
    cart = Cart.objects.get(pk=several[1].pk)
    facts = f"restaurant {cart.restaurant_key} · Pizza Margherita, … · 40.40 EUR"
    assert f"{cart.pk} {facts} · customer {cart.profile_key}" in words(asked.text)
    assert f"restaurant {cart.restaurant_key} · empty · 0.00 EUR" in words(asked.text)


def test_what_differs_since_the_preview_is_left_and_shown_with_both_values(
    lead: Client, several: list[Cart]
) -> None:
    """Every selected cart is in one of the numbers."""
    overwritten, other, closed, reopened = several
    gone, cart = (CartFactory(items=[ItemFactory()]) for _ in range(2))
    reopened.close(outcome="abandoned")
    chosen = [*several, gone, cart]
    preview = lead.post(CHANNELS, sent(chosen, platform="phone", why="Till 4 is gone"))
    assert ">Change 5 carts</button>" in preview.text
    Cart.objects.change_cart(overwritten.pk, {"platform": "kiosk"})
    Cart.objects.change_cart(other.pk, {"fulfilment_channel": "PICKUP"})
    Cart.objects.close_cart(closed.pk, Closing(outcome="ordered", reference="A-1"))
    reopened.reopen()
    Cart.objects.delete_cart(gone.pk)

    answer = lead.post(CHANNELS, form_in(preview))
    text = marked(words(answer.text))
    assert "Carts changed: 2." in text
    assert "Left as they are, as the preview said: 1." in text
    assert "Carts that could not be changed: 3." in text
    seen = "It has changed since the preview, which said: platform “ios-app” → “phone”."
    assert f"{seen} Now: platform “kiosk” → “phone”" in text
    assert f"{seen} Now: ordered, so it stays as it is" in text
    assert groups(answer)["1 cart: This cart was deleted."] == [gone]
    platforms = [
        Cart.objects.get(pk=one.pk).platform for one in (overwritten, closed, reopened, other, cart)
    ]
    assert platforms == ["kiosk", "ios-app", "ios-app", "phone", "phone"]
    assert LogEntry.objects.count() == 2

    again = lead.post(CHANNELS, form_in(answer))
    assert ">Change 1 cart</button>" in again.text
    assert "Carts changed: 1." in lead.post(CHANNELS, form_in(again), follow=True).text
    assert Cart.objects.get(pk=overwritten.pk).platform == "phone"


@pytest.mark.parametrize("shown", ["", ":0", ":1", ":2", ":x", ":0:{}", ":2:{}", ":x:{}", ":1:x"])
def test_a_cart_that_no_preview_has_shown_so_is_left(
    lead: Client, cart: Cart, unchanged: Unchanged, shown: str
) -> None:
    chosen = f"{cart.pk}{shown.format(cart.profile_key)}"
    typed = {**sent([], platform="phone"), "cart": chosen, "sure": "yes"}
    assert "Carts changed: 0." in lead.post(CHANNELS, typed, follow=True).text


def test_a_cart_that_has_gone_to_another_customer_since_the_preview_is_left(
    lead: Client, several: list[Cart], unchanged: Unchanged
) -> None:
    """Its channels are still as the preview has shown them."""
    preview = lead.post(CHANNELS, sent(several[:1], platform="phone"))
    Cart.objects.move_cart(several[0].pk, uuid4())
    unchanged()
    answer = lead.post(CHANNELS, form_in(preview))
    assert "It has gone to another customer since the preview." in answer.text
    assert "Carts that could not be changed: 1." in answer.text


def test_a_press_goes_on_with_the_carts_for_which_there_was_no_time(
    lead: Client, several: list[Cart], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the preview has shown them: who has changed one meanwhile is not overwritten."""
    preview = lead.post(CHANNELS, sent(several, platform="phone", why="Till 4 is gone"))
    with monkeypatch.context() as patch:
        patch.setattr(many_carts_page, "BULK_SECONDS", -1)
        answer = lead.post(CHANNELS, form_in(preview))
    assert "Carts changed: 0." in answer.text
    assert "could not be changed" not in answer.text
    assert groups(answer) == {"4 carts: not reached yet": several[::-1]}
    assert ">Change 4 carts</button>" in answer.text
    assert {cart.version for cart in Cart.objects.all()} == {1}
    assert not LogEntry.objects.exists()
    Cart.objects.change_cart(several[0].pk, {"platform": "kiosk"})
    done = lead.post(CHANNELS, form_in(answer))
    assert "Carts changed: 3." in done.text
    assert "which said: platform “<bdi>ios-app</bdi>” → “<bdi>phone</bdi>”" in done.text
    assert ">Preview 1 cart</button>" in done.text
    platforms = [Cart.objects.get(pk=cart.pk).platform for cart in several]
    assert platforms == ["kiosk", "phone", "phone", "phone"]
    assert Cart.objects.get(pk=several[1].pk).changes.get().why == "Till 4 is gone"


def test_a_preview_goes_on_with_the_carts_for_which_there_was_no_time(
    lead: Client, several: list[Cart], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(many_carts_page, "BULK_SECONDS", -1)
        asked = lead.post(CHANNELS, sent(several[:2], platform="phone"))
    assert groups(asked) == {"2 carts: not reached yet": several[1::-1]}
    assert "Nothing would change" not in asked.text
    assert ">Preview 2 carts</button>" in asked.text
    # Some that a preview has reached, and some that it has not.
    preview = lead.post(CHANNELS, form_in(asked))
    assert ">Change 2 carts</button>" in preview.text
    chosen = [*form_in(preview)["cart"], str(several[2].pk)]
    done = lead.post(CHANNELS, {**form_in(preview), "cart": chosen})
    assert groups(done) == {"1 cart: not reached yet": [several[2]]}
    assert ">Preview 1 cart</button>" in done.text
    platforms = [Cart.objects.get(pk=cart.pk).platform for cart in several]
    assert platforms == ["phone", "phone", "ios-app", "ios-app"]


def test_a_closed_cart_is_said_to_stay_before_anything_is_changed(
    lead: Client, several: list[Cart], unchanged: Unchanged
) -> None:
    for cart in several[:2]:
        Cart.objects.close_cart(cart.pk, Closing(outcome="ordered", reference="A-1"))
    unchanged()
    preview = lead.post(CHANNELS, sent(several, platform="phone"))
    assert groups(preview)["2 carts: ordered, so it stays as it is"] == several[1::-1]
    assert ">Change 2 carts</button>" in preview.text
    closed = lead.post(CHANNELS, sent(several[:2], platform="phone"))
    assert "Nothing would change: each of these carts stays as it is." in closed.text
    assert "<button" not in closed.text.partition('class="item-form"')[2]


def test_a_cart_that_changes_meanwhile_is_not_changed_by_an_old_preview(
    lead: Client, several: list[Cart], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the log of staff says was so must have been so."""
    told = channels_page.difference_text
    preview = lead.post(CHANNELS, sent(several[:1], platform="phone"))

    def overtaken(*args: Any) -> str:
        found = told(*args)
        Cart.objects.change_cart(several[0].pk, {"platform": "kiosk"})
        return found

    monkeypatch.setattr(channels_page, "difference_text", overtaken)
    answer = lead.post(CHANNELS, form_in(preview))
    assert "Carts that could not be changed: 1." in answer.text
    assert "The cart has moved on" in answer.text
    assert ">Back to the carts</a>" in answer.text
    assert ">Cancel</a>" not in answer.text
    assert Cart.objects.get(pk=several[0].pk).platform == "kiosk"
    assert not LogEntry.objects.exists()


@pytest.mark.usefixtures("usual_wait_for_a_lock")
@pytest.mark.django_db(transaction=True)
def test_a_cart_that_somebody_holds_is_listed(
    lead: Client, several: list[Cart], unchanged: Unchanged
) -> None:
    busy = several[0]
    row = Cart.objects.filter(pk=busy.pk, profile_key=busy.profile_key)
    preview = lead.post(CHANNELS, sent([busy], platform="phone"))
    with open_transaction(lambda: list(row.select_for_update())):
        answer = lead.post(CHANNELS, form_in(preview))
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
    for wrong in ({"cart": ["x", "\0", "9" * 999]}, {}):
        assert lead.post(f"{CHANNELS}?q=%0D%0AX", wrong).url == f"{CARTS}?q=%0D%0AX"


def test_who_may_only_view_selects_nothing(
    viewer: Client, lead: Client, several: list[Cart]
) -> None:
    Cart.objects.by(Author("bearer", "app")).change_cart(several[0].pk, {"note": "x"})
    for client in (lead, viewer):
        text = client.get(CARTS, {"changed_by": "app"}).text
        assert page_of(several[0]) in text
        for offered in ('type="checkbox"', "Put back what"):
            assert (offered in text) == (client is lead)
