from typing import Any

import pytest

from tests.support import bodies
from tests.support.answers import assert_refused, exact, success
from tests.support.callers import PROFILE, STRANGER, Api
from tests.support.carts import created, shown
from tests.support.factories import CartFactory
from tests.support.stored import Unchanged


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


@pytest.mark.parametrize(("limit", "sizes"), [(1, [1] * 5), (2, [2, 2, 1]), (5, [5]), (100, [5])])
def test_pages_hold_every_cart_once_and_newest_first(
    api: Api, limit: int, sizes: list[int]
) -> None:
    ids = [str(CartFactory(profile_key=PROFILE).id) for _ in range(5)]
    CartFactory(profile_key=STRANGER)

    pages, query = [], f"?limit={limit}"
    while query:
        data = api.get(query).json()["data"]
        pages.append([cart["cartId"] for cart in data["carts"]])
        cursor = data["nextCursor"]
        query = f"?limit={limit}&cursor={cursor}" if cursor else ""

    assert [len(page) for page in pages] == sizes
    assert [cart_id for page in pages for cart_id in page] == ids[::-1]


def test_a_page_has_twenty_carts_when_no_limit_is_sent(api: Api) -> None:
    ids = [str(CartFactory(profile_key=PROFILE).id) for _ in range(21)][::-1]

    data = api.get().json()["data"]

    assert [cart["cartId"] for cart in data["carts"]] == ids[:20]
    assert data["nextCursor"] == ids[19]


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


@pytest.mark.parametrize(
    "limit", ["0", "101", "-1", "", "1.0", "1e1", "1_0", "%D9%A1", "9999999999", "%2B1", "1%0A"]
)
def test_refuses_a_limit_out_of_range(api: Api, unchanged: Unchanged, limit: str) -> None:
    response = api.get(f"?limit={limit}")

    assert_refused(response, 400, "invalid_parameter", "limit must be 1 to 100.", "limit")


@pytest.mark.parametrize("cursor", ["", "next", STRANGER.hex, f"{STRANGER}%0A", "%00"])
def test_refuses_a_cursor_that_is_none(api: Api, unchanged: Unchanged, cursor: Any) -> None:
    response = api.get(f"?cursor={cursor}")

    text = "cursor must be a nextCursor of this list."
    assert_refused(response, 400, "invalid_parameter", text, "cursor")


@pytest.mark.parametrize("query", ["limit=1&limit=1", "cursor=a&cursor=b"])
def test_refuses_a_parameter_sent_twice(api: Api, unchanged: Unchanged, query: str) -> None:
    response = api.get(f"?{query}")

    name = query.partition("=")[0]
    assert_refused(response, 400, "invalid_parameter", f"{name} must be sent once.", name)
