import re
from datetime import datetime, timedelta
from html import unescape
from typing import Any
from urllib.parse import parse_qsl
from uuid import UUID

import pytest
from django.test import Client
from django.utils import timezone

from carts.models import Cart
from cartsvc.guids import first_key_at
from tests.desk.conftest import CARTS, chips, found
from tests.support.factories import CartFactory, ItemFactory
from tests.support.table_contents import unguarded_rows


def test_a_filter_is_a_chip_that_can_be_taken_off(viewer: Client, cart: Cart) -> None:
    chosen = {"q": "a/c&d?", "status": "open", "platform": "none"}
    assert chips(viewer, **chosen) == ["dish or text a/c&d?", "Status: open", "Platform: none"]
    text = viewer.get(CARTS, chosen).text
    assert "Carts may have been deleted since." in text
    without = re.findall('<a href="([^"]*)" aria-label="Search without', text)
    assert [dict(parse_qsl(unescape(one)[1:])) for one in without] == [
        {name: value for name, value in chosen.items() if name != other} for other in chosen
    ]
    assert "must be whole" not in viewer.get(CARTS, {"platform": "none"}).text


@pytest.mark.parametrize("name", ["status__exact", "o", "p", "created_on__gte"])
def test_a_filter_that_the_page_does_not_know_is_told(
    viewer: Client, cart: Cart, name: str
) -> None:
    response: Any = viewer.get(CARTS, {name: "5", "q": "pizza"})
    assert f"This page has no filter “{name}”." in response.text
    assert response.context["result"].carts == []
    assert viewer.get(CARTS, {name: "5", "xlsx": "1"}).headers["Content-Type"].startswith("text")


PLACE, TIME = "Enter a valid UUID.", "Enter a valid date/time."


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [("before", "zzz", PLACE), ("created_from", "yesterday", TIME)],
)
def test_a_place_or_a_time_that_is_none_is_told(
    viewer: Client, cart: Cart, name: str, value: str, text: str
) -> None:
    response = viewer.get(CARTS, {name: value})
    assert text in response.text
    assert response.context["result"].carts == []


def test_a_time_is_typed_with_four_digits_of_a_year(viewer: Client) -> None:
    assert viewer.get(CARTS).text.count('max="9999-12-31T23:59"') == 4


FILTERS = {
    "platform": "kiosk",
    "ordering_channel": "WEB",
    "fulfilment_channel": "PICKUP",
}


@pytest.mark.parametrize("name", FILTERS)
def test_filters(viewer: Client, cart: Cart, name: str) -> None:
    wanted = CartFactory(**{name: FILTERS[name]}, items=[ItemFactory()])
    for spell in (str.upper, str.lower):
        chosen = {name: spell(FILTERS[name])}
        assert found(viewer, **chosen) == [wanted]
        for key in (str(wanted.profile_key), "4711 pizza"):
            assert found(viewer, **chosen, q=key) == [wanted]
        assert found(viewer, **chosen, q=str(cart.profile_key)) == []


def at(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M")


def test_filters_of_the_time_of_creation(viewer: Client, cart: Cart) -> None:
    now = timezone.now()
    past, future = at(now - timedelta(hours=1)), at(now + timedelta(hours=1))
    for end, other, wanted in ((past, future, [cart]), (future, past, [])):
        assert found(viewer, created_from=end) == wanted
        assert found(viewer, created_to=other) == wanted


def test_what_changed_between_two_times_asks_the_history(viewer: Client) -> None:
    """A later change hides none, and a creation is no change."""
    now = timezone.now().replace(second=0, microsecond=0)
    first, last = now - timedelta(minutes=90), now - timedelta(minutes=30)
    keys = [UUID(int=first_key_at(first).int + number) for number in range(3)]
    twice, once, _ = [CartFactory(id=key, items=[ItemFactory()]) for key in keys]
    unguarded_rows(Cart).update(created_on=first, modified_on=first)
    for cart, moment in ((twice, first), (twice, last), (once, last)):
        Cart.objects.dated(moment).change_cart(cart.pk, {"note": str(moment)})
    for begin, end, wanted in (
        (first, first + timedelta(minutes=5), [twice]),
        (last, last + timedelta(minutes=5), [once, twice]),
        (first, None, [once, twice]),
        (None, last, [twice]),
        (now, None, []),
    ):
        times = {"changed_from": begin and at(begin), "changed_to": end and at(end)}
        assert found(viewer, **{name: one for name, one in times.items() if one}) == wanted


def test_times_are_those_of_the_viewers_zone(viewer: Client, cart: Cart) -> None:
    there = at(timezone.now() + timedelta(hours=11))  # Auckland is ahead by 12 or 13
    assert found(viewer, created_from=there) == []
    viewer.cookies["timezone"] = "Pacific/Auckland"
    assert found(viewer, created_from=there) == [cart]
    assert " NZ" in viewer.get(CARTS).text


@pytest.mark.parametrize("zone", ["", "Nowhere/Land", "../etc/passwd", "x" * 300, "Europe"])
def test_a_zone_that_is_none_shows_utc(viewer: Client, cart: Cart, zone: str) -> None:
    viewer.cookies["timezone"] = zone
    assert "UTC" in viewer.get(CARTS).text
