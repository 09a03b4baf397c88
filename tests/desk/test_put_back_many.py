"""Put back, in several carts at once, what somebody or a request has changed."""

import re
from datetime import timedelta
from typing import Any

import factory
import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client
from django.utils import timezone
from uuid_utils.compat import uuid7

from carts.models import Cart
from carts.models.cart_change import Author
from carts.models.manager import CartManager
from carts.models.reads import items_of
from carts.records import Closing, Item
from tests.desk.conftest import CARTS, found, marked, words
from tests.desk.test_channels import CHANNELS, form_in, sent, url_of
from tests.support.factories import CartFactory, ItemFactory, new_item
from tests.support.table_contents import Unchanged

PUT_BACK = f"{CARTS}put-back/"


def sync(request_id: str = "sync-2026-1") -> CartManager:
    """Return the manager with which the partner's program changes carts."""
    return Cart.objects.by(Author("bearer", "Sync P019", request_id))


def held(cart: Cart) -> dict[Any, Item]:
    placed = items_of(Cart.objects.with_items().get(pk=cart.pk).items_json)
    return {key: one.item for key, one in placed.items()}


def set_prices(cart: Cart, price: int) -> None:
    sync().replace_items(
        cart.pk, {key: one._replace(price=price) for key, one in held(cart).items()}
    )


@pytest.fixture
def several(db: None) -> list[Cart]:
    dishes = [ItemFactory(display_name=name) for name in ("Naan", "Raita")]
    return [CartFactory(items=dishes) for _ in range(3)]


def preview(client: Client, carts: list[Cart], who: str = "sync p019", **query: str) -> Any:
    chosen = {"cart": [str(cart.pk) for cart in carts]}
    page = client.post(PUT_BACK, chosen, query_params={"changed_by": who, **query})
    assert page.status_code == 200
    return page


def said(page: Any) -> str:
    return marked(words(page.text))


def test_a_bad_change_of_a_partners_carts_is_put_back(lead: Client, several: list[Cart]) -> None:
    """What the customer has changed since stays."""
    before = [held(cart) for cart in several]
    for cart in several:
        set_prices(cart, 1)
    naan = next(iter(before[0]))
    several[0].items.get(pk=naan).change(quantity=7)
    assert found(lead, changed_by="Sync P019") == several[::-1]

    page = preview(lead, several, changed_from="2026-01-01T00:00")
    title = "Put back what [sync p019] changed since 1 Jan 2026, 00:00 UTC?"
    assert title in said(page)
    each = "“Naan”: price 1.00 → 10.10; “Raita”: price 1.00 → 10.10"
    assert said(page).count(each) == 3
    assert ">Put it back in 3 carts</button>" in page.text
    assert not LogEntry.objects.exists()

    done = lead.post(url_of(page), {**form_in(page), "why": "Ticket 7"}, follow=True)
    assert "Carts changed: 3." in done.text
    before[0][naan] = before[0][naan]._replace(quantity=7)
    assert [held(cart) for cart in several] == before
    why = "Put back what sync p019 changed since 1 Jan 2026, 00:00 UTC: Ticket 7"
    for cart in several:
        change = cart.changes.latest("version")
        assert (change.operation, change.author.name, change.why) == ("Replace Items", "anna", why)
        entry = LogEntry.objects.get(object_id=str(cart.pk))
        assert f"{each}. Why: “Ticket 7”" in re.sub(r"[\u2068\u2069]", "", entry.change_message)
    # The list, which is still that of the filter, shows which are done.
    assert said(done).count("by Staff anna: “Put back what sync p019 changed since") == 3
    assert "stays as it is" in said(preview(lead, several[:1]))


def test_the_desks_own_bulk_is_put_back(lead: Client, several: list[Cart]) -> None:
    lead.post(CHANNELS, form_in(lead.post(CHANNELS, sent(several, platform="phone"))))
    Cart.objects.change_cart(several[0].pk, {"note": "Ring twice"})
    page = preview(lead, several, "anna")
    assert said(page).count("platform “phone” → “ios-app”") == 3
    lead.post(url_of(page), form_in(page))
    carts = [Cart.objects.get(pk=cart.pk) for cart in several]
    assert [cart.platform for cart in carts] == ["ios-app"] * 3
    assert [cart.note for cart in carts] == ["Ring twice", None, None]


def test_items_that_came_and_went_are_put_back(lead: Client, several: list[Cart]) -> None:
    """As a program does that replaces all items by new ones."""
    before = held(several[0])
    added = uuid7()
    sync().replace_items(several[0].pk, {uuid7(): new_item(), added: new_item()})
    Cart.objects.change_item(several[0].pk, added, {"quantity": 9})
    mine = several[0].add_item(**ItemFactory(display_name="Lassi"))
    page = preview(lead, several[:1])
    assert "changed since: Change Item by " in said(page)
    assert "quantity 2 → 9" in said(page)
    lead.post(url_of(page), form_in(page))
    assert list(held(several[0])) == [*before, mine.pk]
    assert {key: held(several[0])[key] for key in before} == before


def test_what_others_have_changed_since_of_the_same_field_is_undone_and_named(
    lead: Client, cart: Cart
) -> None:
    (key,) = held(cart)
    sync().change_item(cart.pk, key, {"quantity": 50})
    sync("later").change_cart(cart.pk, {"note": "x"})
    for quantity in (5, 6):
        Cart.objects.change_item(cart.pk, key, {"quantity": quantity})
    text = said(preview(lead, [cart]))
    assert "quantity 6 → 2; note on the customer's invoice “x” → nothing" in text
    assert "quantity 50 → 5; changed since: Change Item by " in text
    # Of one request alone.
    text = said(preview(lead, [cart], "later"))
    assert "note on the customer's invoice “x” → nothing" in text
    assert "quantity" not in text.partition("Why")[2]


def test_what_is_put_back_is_of_the_time_of_the_filter(lead: Client, db: None) -> None:
    now = timezone.now()
    early = Cart.objects.dated(now - timedelta(hours=5))
    values = factory.build(dict, FACTORY_CLASS=CartFactory)
    cart = early.create_with_items(**values)
    for hours, note in ((3, "a"), (1, "b")):
        sync().dated(now - timedelta(hours=hours)).change_cart(cart.pk, {"note": note})
    times = {hours: f"{now - timedelta(hours=hours):%Y-%m-%dT%H:%M}" for hours in (2, 4)}
    for query, was in (
        ({}, "“b” → nothing"),
        ({"changed_from": times[2]}, "“b” → “a”"),
        ({"changed_from": times[4], "changed_to": times[2]}, "“b” → nothing"),
    ):
        assert found(lead, changed_by="Sync P019", **query) == [cart]
        assert f"note on the customer's invoice {was}" in said(preview(lead, [cart], **query))
    assert found(lead, changed_by="Sync P019", changed_to=times[4]) == []
    assert found(lead, changed_by="Sync") == []
    assert found(lead, changed_by="sync-2026-1") == [cart]


def test_what_cannot_be_put_back_is_named(lead: Client, several: list[Cart]) -> None:
    closed, ended, old = several
    for cart in several:
        set_prices(cart, 1)
    sync().close_cart(ended.pk, Closing(outcome="abandoned"))
    ended.refresh_from_db()
    ended.reopen()
    Cart.objects.close_cart(closed.pk, Closing(outcome="ordered", reference="A-1"))
    for number in range(101):
        Cart.objects.change_cart(old.pk, {"note": str(number)})
    sync().change_cart(old.pk, {"note": None})
    Cart.objects.change_cart(old.pk, {"platform": "phone"})
    text = said(preview(lead, several))
    assert "ordered, so it stays as it is" in text
    assert "price 1.00 → 10.10; closing and reopening are not put back" in text
    # Of what is kept.
    assert "note on the customer's invoice nothing → “100”" in text
    assert "what was before is not known any more" in said(preview(lead, [old], "nobody"))


def test_what_differs_since_the_preview_is_left_and_told(lead: Client, several: list[Cart]) -> None:
    for cart in several:
        set_prices(cart, 1)
    page = preview(lead, several)
    key = next(iter(held(several[0])))
    Cart.objects.change_item(several[0].pk, key, {"price": 3})
    Cart.objects.change_item(several[1].pk, key := next(iter(held(several[1]))), {"quantity": 3})
    Cart.objects.delete_cart(several[2].pk)
    answer = lead.post(url_of(page), form_in(page))
    assert "Carts changed: 1." in said(answer)
    assert "Carts that could not be changed: 2." in said(answer)
    assert "which said: “Naan”: price 1.00 → 10.10" in said(answer)
    assert "Now: “Naan”: price 3.00 → 10.10" in said(answer)
    assert "This cart was deleted." in said(answer)
    assert held(several[0])[next(iter(held(several[0])))].price == 3
    assert held(several[1])[key].quantity == 3


@pytest.mark.parametrize("query", ["", "q=4711", "changed_by=", "changed_by=x&changed_from=y"])
def test_it_must_be_said_whose_changes_are_put_back(
    lead: Client, cart: Cart, unchanged: Unchanged, query: str
) -> None:
    assert lead.post(f"{PUT_BACK}?{query}", {"cart": str(cart.pk)}).status_code == 400
    assert "Put back what" not in lead.get(f"{CARTS}?{query}").text
