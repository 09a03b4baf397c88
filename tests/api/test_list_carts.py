from collections.abc import Callable
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

import pytest
from django.utils import timezone

from carts.models import Cart
from carts.views import IN_ORDER_OF_CREATION
from tests.api.ends_of_carts import ABANDONED, CHECKOUT, ORDERED, close
from tests.support import bodies
from tests.support.answers import assert_refused, errors_of, exact, success
from tests.support.callers import PROFILE, STRANGER, Api
from tests.support.carts import created, shown
from tests.support.factories import CartFactory, ItemFactory
from tests.support.table_contents import Unchanged


def pages(api: Api, **query: Any) -> list[list[dict[str, Any]]]:
    """Return the carts of each page of the list."""
    found = []
    while query.get("cursor", "first"):
        data = api.get(f"?{urlencode(query)}").json()["data"]
        found.append(data["carts"])
        query["cursor"] = data["nextCursor"]
    return found


def ids_of(found: list[list[dict[str, Any]]]) -> list[str]:
    return [cart["cartId"] for page in found for cart in page]


def test_shows_each_cart_without_its_items(api: Api) -> None:
    first = created(api, bodies.cart(items=2, options=2))
    second = created(api, bodies.bare_cart())

    response = api.get()

    assert response.status_code == 200
    summaries = []
    for cart_id in (second, first):
        cart = shown(api, cart_id)
        cart["itemCount"] = len(cart.pop("items"))
        summaries.append(cart)
    page = {"carts": summaries, "nextCursor": None}
    assert exact(response) == success("The carts were found.", page)
    assert [(cart["itemCount"], float(cart["subtotal"])) for cart in summaries] == [
        (0, 0),
        (2, 50.4),
    ]


@pytest.mark.parametrize(
    ("limit", "sizes"),
    [("1", [1] * 21), ("10", [10, 10, 1]), ("21", [21]), ("100", [21]), (None, [20, 1])],
)
def test_pages_hold_every_cart_once_and_newest_first(
    api: Api, limit: str | None, sizes: list[int]
) -> None:
    ids = [str(CartFactory(profile_key=PROFILE).id) for _ in range(21)]
    CartFactory(profile_key=STRANGER)

    found = pages(api, **({"limit": limit} if limit else {}))

    assert [len(page) for page in found] == sizes
    assert ids_of(found) == ids[::-1]


def test_carts_made_and_deleted_while_paging_move_no_page(api: Api) -> None:
    carts = [CartFactory(profile_key=PROFILE) for _ in range(3)][::-1]
    cursor = api.get("?limit=2").json()["data"]["nextCursor"]
    CartFactory(profile_key=PROFILE)
    assert cursor == str(carts[1].id)
    api.delete(f"/{cursor}")

    data = api.get(f"?limit=2&cursor={cursor.upper()}").json()["data"]

    assert [cart["cartId"] for cart in data["carts"]] == [str(carts[2].id)]
    assert data["nextCursor"] is None


def test_a_cursor_of_another_customer_shows_nothing_of_theirs(api: Api) -> None:
    mine = CartFactory(profile_key=PROFILE)
    theirs = CartFactory(profile_key=STRANGER)

    data = api.get(f"?cursor={theirs.id}").json()["data"]

    assert [cart["cartId"] for cart in data["carts"]] == [str(mine.id)]


LIMIT, CURSOR = "limit must be 1 to 100.", "cursor must be a nextCursor of this list."
NO_LIMITS = ["0", "101", "-1", "", "1.0", "1e1", "1_0", "%D9%A1", "9999999999", "%2B1", "1%0A"]
RESTAURANT = "restaurantKey must be an integer of 32 bits."
BY_CHANGE = f"modified1764313052123456.{STRANGER.hex}.0"
NO_RESTAURANTS = ["", "x", "1.0", "2147483648", "-2147483649", "%2B1", "1_0", "%D9%A1"]
STATUS = "status must be one of these: open, checkout, ordered, abandoned."
NO_SORTS = ["", "price", "Modified", "created%0A"]
NO_CURSORS = ["", "next", STRANGER.hex, f"{STRANGER}%0A", "%00"]


@pytest.mark.parametrize(
    ("query", "text"),
    [
        *((f"limit={limit}", LIMIT) for limit in NO_LIMITS),
        *((f"cursor={cursor}", CURSOR) for cursor in (*NO_CURSORS, BY_CHANGE)),
        *(
            (f"cursor={cursor}&sort=modified", CURSOR)
            for cursor in (*NO_CURSORS, STRANGER, BY_CHANGE.replace("modified", "created"))
        ),
        *((f"restaurantKey={key}", RESTAURANT) for key in NO_RESTAURANTS),
        *((f"sort={sort}", "sort must be one of these: created, modified.") for sort in NO_SORTS),
        *((f"status={status}", STATUS) for status in ("", "Open", "paid")),
        *((f"{name}=1&{name}=1", f"{name} must be sent once.") for name in IN_ORDER_OF_CREATION),
    ],
)
def test_refuses_a_wrong_parameter(api: Api, unchanged: Unchanged, query: str, text: str) -> None:
    name = query.partition("=")[0]
    assert_refused(api.get(f"?{query}"), 400, "invalid_parameter", text, name)


def test_a_cursor_belongs_to_its_list_and_its_sort(unchanged: Unchanged) -> None:
    api = Api(scope="Cart.Read Cart.AnyProfile")
    for _ in range(2):
        CartFactory(profile_key=PROFILE)
    unchanged()
    lists = {
        f"{api.base}?limit=1&cursor=": "nextCursor",
        f"{api.base}?limit=1&sort=modified&cursor=": "nextCursor",
        "/v2.0/changes?limit=1&after=": "next",
    }
    api.base = ""
    cursors = [api.get(path.rpartition("&")[0]).json()["data"][at] for path, at in lists.items()]

    for path in lists:
        name = path.rpartition("&")[2][:-1]
        answers = [api.get(f"{path}{cursor}") for cursor in cursors]
        taken = [list(lists).index(path) == number for number in range(3)]
        assert [one.status_code == 200 for one in answers] == taken
        for refused in (one for one in answers if one.status_code != 200):
            assert errors_of(refused) == [("invalid_parameter", name)]


def test_pages_of_one_status(api: Api) -> None:
    ends = {body["outcome"]: body for body in (CHECKOUT, ORDERED, ABANDONED)}
    ids: dict[str, list[str]] = {status: [] for status in ("open", *ends)}
    for status in [*ids] * 3:
        ids[status].append(created(api))
        if status in ends:
            close(api, ids[status][-1], ends[status])

    for status, expected in ids.items():
        found = pages(api, status=status, limit=2)
        assert ids_of(found) == expected[::-1]
        assert {cart["status"] for page in found for cart in page} == {status}


def test_last_changed_first(api: Api) -> None:
    """Pages lose no cart and show none twice, even where times are equal."""
    moment = timezone.now()
    carts = [CartFactory(profile_key=PROFILE, items=[ItemFactory()]).pk for _ in range(7)]
    for cart_id, seconds in zip(carts, (3, 1, 2, 2, 2, 1, 0), strict=True):
        when = moment + timedelta(seconds=seconds)
        Cart.objects.dated(when).change_cart(cart_id, {"note": "x"})
    expected = [carts[n] for n in (0, 4, 3, 2, 5, 1, 6)]

    for limit in (1, 2, 3, 7, 20):
        assert ids_of(pages(api, sort="modified", limit=limit)) == [*map(str, expected)]
    newest = api.get("?sort=created&limit=2").json()["data"]
    assert [cart["cartId"] for cart in newest["carts"]] == [*map(str, carts[:4:-1])]


def test_the_cart_that_a_customer_left_at_a_restaurant(
    api: Api, keep_days: Callable[[int, int], None]
) -> None:
    left, closed = (CartFactory(profile_key=PROFILE, restaurant_key=-1) for _ in "12")
    CartFactory(profile_key=PROFILE, restaurant_key=1)
    CartFactory(profile_key=STRANGER, restaurant_key=-1)
    closed.close(outcome="abandoned")
    keep_days(30, 0)

    for sort in ("created", "modified"):
        query = f"?restaurantKey=-1&status=open&sort={sort}"
        [cart] = api.get(query).json()["data"]["carts"]
        assert cart["cartId"] == str(left.pk)
        assert cart["expiresOn"]
    everything = api.get("?restaurantKey=-1&sort=modified").json()["data"]["carts"]
    assert [cart["cartId"] for cart in everything] == [str(closed.pk), str(left.pk)]


def test_tells_all_that_is_wrong_in_the_query(api: Api) -> None:
    response = api.get("?limit=0&cursor=next&cursor=x&status=gone")

    names = ["limit", "cursor", "status"]
    assert errors_of(response) == [("invalid_parameter", name) for name in names]
