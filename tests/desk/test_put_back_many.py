"""Put back, in several carts at once, what somebody or a request has changed."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client
from django.utils import timezone
from pytest_django import Settings
from uuid_utils.compat import uuid7

from carts.models import Cart
from carts.models.cart_change import Author
from carts.models.manager import CartManager
from carts.models.reads import items_of
from carts.records import Closing, Item, Option
from cartsvc.guids import first_key_at
from tests.desk.conftest import CARTS, found, marked, words
from tests.desk.test_channels import CHANNELS, form_in, sent, url_of
from tests.support.factories import CartFactory, ItemFactory, OptionFactory, new_item
from tests.support.table_contents import Unchanged, unguarded_rows

PUT_BACK = f"{CARTS}put-back/"


def sync(request_id: str = "sync-2026-1") -> CartManager:
    """Return the manager with which the partner's program changes carts."""
    return Cart.objects.by(Author("bearer", "Sync P019", request_id))


CUSTOMER = Cart.objects.by(Author("bearer", "app"))


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
    assert said(page).count(f"3 carts: {each}") == 1
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
    assert "3 carts: platform “phone” → “ios-app”" in said(page)
    lead.post(url_of(page), form_in(page))
    carts = [Cart.objects.get(pk=cart.pk) for cart in several]
    assert [cart.platform for cart in carts] == ["ios-app"] * 3
    assert [cart.note for cart in carts] == ["Ring twice", None, None]


def put_back(client: Client, cart: Cart, **query: str) -> str:
    """Put back what sync changed, and return what the preview said."""
    page = preview(client, [cart], **query)
    assert "Carts changed: 1." in client.post(url_of(page), form_in(page), follow=True).text
    return said(page)


def told(cart: Cart, version: int) -> str:
    """Return how the preview names the app's change that is in the way, or the first of these."""
    change = cart.changes.get(version=version)
    when = f"{change.at:%-d %b %Y, %H:%M} UTC"
    return f" left, because changed since: {change.operation} by app, {when}: "


def test_items_that_came_and_went_are_put_back(lead: Client, several: list[Cart]) -> None:
    """As a program does that replaces all items by new ones."""
    before = held(several[0])
    # Both send an item as it is.
    for carts, (key, item) in zip((sync(), CUSTOMER), before.items(), strict=True):
        carts.replace_item(several[0].pk, key, item)
    sync().replace_items(several[0].pk, {uuid7(): new_item(), uuid7(): new_item()})
    mine = several[0].add_item(**ItemFactory(display_name="Lassi"))
    assert "left, because" not in put_back(lead, several[0])
    assert list(held(several[0])) == [*before, mine.pk]
    assert {key: held(several[0])[key] for key in before} == before


def test_what_others_have_written_since_is_left_and_named(lead: Client, cart: Cart) -> None:
    (key,) = held(cart)
    CUSTOMER.change_cart(cart.pk, {"note": "mine"})
    before = held(cart)[key]
    options = (*before.options, Option(**OptionFactory(display_name="Olives")))
    sync().change_cart(cart.pk, {"note": "bad note", "platform": "sync"})
    sync().replace_item(cart.pk, key, before._replace(quantity=50, price=1, options=()))
    CUSTOMER.change_cart(cart.pk, {"note": "new by me"})
    CUSTOMER.change_item(cart.pk, key, {"price": 9, "options": options})
    text = put_back(lead, cart)
    assert "1 cart: “Pizza Margherita”: quantity 50 → 2; platform “sync” → “ios-app” 0" in text
    assert f"{told(cart, 5)}note on the" in text
    assert "“bad note” → “new by me”; Change Item by app" in text
    assert "price 1.00 → 9.00; + option Extra mozzarella, 1.25; + option Olives, 1.25" in text
    new = Cart.objects.get(pk=cart.pk)
    assert (new.note, new.platform) == ("new by me", "ios-app")
    assert held(cart)[key] == before._replace(price=9, options=options)


def test_what_others_wrote_between_two_changes_comes_back(lead: Client, cart: Cart) -> None:
    for carts, note in ((sync(), "bad"), (CUSTOMER, "mine"), (sync(), "bad again")):
        carts.change_cart(cart.pk, {"note": note})
    text = put_back(lead, cart)
    assert "“bad again” → “mine”" in text
    assert told(cart, 3) in text
    assert Cart.objects.get(pk=cart.pk).note == "mine"


def test_an_item_that_others_have_changed_since_it_came_is_left(lead: Client, cart: Cart) -> None:
    added = uuid7()
    sync().change_cart(cart.pk, {"note": "bad"})
    sync().add_item(cart.pk, added, new_item())
    CUSTOMER.change_item(cart.pk, added, {"quantity": 9})
    before = held(cart)
    text = put_back(lead, cart)
    assert "“bad” → nothing" in text
    assert f"{told(cart, 4)}quantity 2 → 9" in text
    assert held(cart) == before


def test_a_dish_that_others_have_added_again_does_not_come_twice(
    lead: Client, several: list[Cart]
) -> None:
    cart = several[0]
    before = held(cart)
    naan, raita = before
    sync().replace_items(cart.pk, {})
    CUSTOMER.add_item(cart.pk, again := uuid7(), before[naan]._replace(quantity=1, price=11))
    text = put_back(lead, cart)
    assert "1 cart: added 2 × Raita, 10.10 0" in text
    assert f"{told(cart, 3)}1 × Naan, 11.00" in text
    kept = before[naan]._replace(quantity=1, price=11)
    assert held(cart) == {again: kept, raita: before[raita]}


def test_a_dish_that_came_anew_and_that_others_changed_does_not_come_twice(
    lead: Client, several: list[Cart]
) -> None:
    """As if it had kept its id."""
    cart = several[0]
    before = held(cart)
    naan, raita = before
    sync().replace_items(cart.pk, {uuid7(): one for one in before.values()})
    new_naan, _ = held(cart)
    CUSTOMER.change_item(cart.pk, new_naan, {"quantity": 9})
    assert f"{told(cart, 3)}quantity 2 → 9" in put_back(lead, cart)
    changed = before[naan]._replace(quantity=9)
    assert held(cart) == {new_naan: changed, raita: before[raita]}


def test_a_dish_that_others_have_added_to_one_that_came_anew_is_not_that_one(
    lead: Client, several: list[Cart]
) -> None:
    """The customer saw the first, and wants both."""
    cart = several[0]
    before = held(cart)
    naan, _ = before
    sync().replace_items(cart.pk, {uuid7(): one._replace(price=1) for one in before.values()})
    CUSTOMER.add_item(cart.pk, another := uuid7(), before[naan])
    assert "left, because" not in put_back(lead, cart)
    assert held(cart) == {**before, another: before[naan]}


def test_what_others_removed_or_brought_back_since_is_left(
    lead: Client, several: list[Cart], unchanged: Unchanged
) -> None:
    cart = several[0]
    naan, raita = before = held(cart)
    sync().replace_items(cart.pk, {naan: before[naan]._replace(price=1)})
    CUSTOMER.remove_item(cart.pk, naan)
    CUSTOMER.add_item(cart.pk, raita, before[raita])
    unchanged()
    text = said(preview(lead, [cart]))
    assert "1 cart: stays as it is 0" in text
    assert f"{told(cart, 3)}2 × Naan, 1.00; Add Item by app" in text
    assert "Nothing would change: each of these carts stays as it is. Cancel" in text


def test_what_one_request_has_changed_is_put_back_alone(lead: Client, cart: Cart) -> None:
    (key,) = held(cart)
    sync().change_item(cart.pk, key, {"quantity": 50})
    sync("later").change_cart(cart.pk, {"note": "x"})
    text = said(preview(lead, [cart], "later"))
    assert "note on the customer's invoice “x” → nothing" in text
    assert "quantity" not in text.partition("Why")[2]


def test_what_is_put_back_is_of_the_time_of_the_filter(lead: Client, db: None) -> None:
    now = timezone.now()
    created = now - timedelta(hours=5)
    cart: Cart = CartFactory(id=first_key_at(created))
    unguarded_rows(Cart).update(created_on=created, modified_on=created)
    for hours, note in ((3, "a"), (1, "b")):
        sync().dated(now - timedelta(hours=hours)).change_cart(cart.pk, {"note": note})
    times = {hours: f"{now - timedelta(hours=hours):%Y-%m-%dT%H:%M}" for hours in (2, 4)}
    for query, was in (
        ({}, "“b” → nothing"),
        ({"changed_from": times[2]}, "“b” → “a”"),
    ):
        assert found(lead, changed_by="Sync P019", **query) == [cart]
        assert f"note on the customer's invoice {was}" in said(preview(lead, [cart], **query))
    # What the same program has written later stays, too.
    query = {"changed_from": times[4], "changed_to": times[2]}
    assert found(lead, changed_by="Sync P019", **query) == [cart]
    text = said(preview(lead, [cart], **query))
    assert "1 cart: stays as it is 0" in text
    assert "left, because changed since: Change Cart by Sync P019" in text
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
    assert "price 1.00 → 10.10; closing, reopening and moving are not put back" in text
    # Of what is kept.
    assert "note on the customer's invoice nothing → “100”" in text
    assert "what was before is not known any more" in said(preview(lead, [old], "nobody"))


def test_what_is_not_allowed_any_more_is_left_and_the_refusal_told(
    lead: Client, several: list[Cart], settings: Settings
) -> None:
    """Of the items that are put back alone: what the cart has was allowed."""
    big = [Item(**ItemFactory(options=[OptionFactory() for _ in range(2)])) for _ in range(2)]
    refused, fits = several[:2]
    for cart, removed in ((refused, 0), (fits, 1)):
        items: dict[Any, Item] = {uuid7(): big[0], uuid7(): new_item()}
        Cart.objects.replace_items(cart.pk, {**items, uuid7(): big[1]})
        sync().remove_item(cart.pk, [*items][removed])
    page = preview(lead, [refused, fits])
    assert ">Put it back in 2 carts</button>" in page.text
    settings.MAX_OPTIONS = 1
    before = held(refused)
    answer = said(lead.post(url_of(page), form_in(page)))
    reason = "stays as it is: There must not be more than 1 options on an item."
    assert reason in answer
    assert "Carts changed: 1." in answer
    assert (held(refused), Cart.objects.get(pk=refused.pk).version) == (before, 3)
    assert len(held(fits)) == 3
    assert LogEntry.objects.get().object_id == str(fits.pk)
    assert reason in said(preview(lead, [refused]))


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
    assert "Now: “Raita”: price 1.00 → 10.10" in said(answer)
    assert "This cart was deleted." in said(answer)
    assert held(several[0])[next(iter(held(several[0])))].price == 3
    assert held(several[1])[key].quantity == 3


@pytest.mark.parametrize("query", ["", "q=4711", "changed_by=", "changed_by=x&changed_from=y"])
def test_it_must_be_said_whose_changes_are_put_back(
    lead: Client, cart: Cart, unchanged: Unchanged, query: str
) -> None:
    assert lead.post(f"{PUT_BACK}?{query}", {"cart": str(cart.pk)}).status_code == 400
    assert "Put back what" not in lead.get(f"{CARTS}?{query}").text
