from datetime import datetime, timedelta

import pytest
from django.test import Client
from django.utils import timezone

from carts.models import Cart
from tests.desk.conftest import CARTS, found
from tests.support.factories import CartFactory, ItemFactory


def test_filters_that_hide_what_is_searched_can_be_left_out(viewer: Client, cart: Cart) -> None:
    response = viewer.get(CARTS, {"q": "a/c&d?", "platform": "none"})
    assert "Carts may have been deleted since." in response.text
    assert '<a href="?q=a%2Fc%26d%3F">search without the filters</a>' in response.text
    response = viewer.get(CARTS, {"platform": "none"})
    assert "must be whole" not in response.text
    assert '<a href="?q=">search without the filters</a>' in response.text


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


def test_filters_of_time(viewer: Client, cart: Cart) -> None:
    now = timezone.now()
    past, future = at(now - timedelta(hours=1)), at(now + timedelta(hours=1))
    for name in ("created", "changed"):
        for end, other, wanted in ((past, future, [cart]), (future, past, [])):
            assert found(viewer, **{f"{name}_from": end}) == wanted
            assert found(viewer, **{f"{name}_to": other}) == wanted


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
