"""If-Match on the three operations that change a cart."""

from collections.abc import Callable, Mapping

import pytest
from django.http import HttpResponse

from tests.support import bodies
from tests.support.answers import error
from tests.support.callers import Api
from tests.support.carts import created_with_items, shown

Change = Callable[[Api, str, str, str | None], HttpResponse]


def _headers(version: str | None) -> Mapping[str, str]:
    return {} if version is None else {"If_Match": version}


def add(api: Api, cart_id: str, item_id: str, version: str | None) -> HttpResponse:
    return api.post(f"/{cart_id}/items", bodies.item(), **_headers(version))


def update(api: Api, cart_id: str, item_id: str, version: str | None) -> HttpResponse:
    return api.put(f"/{cart_id}/items/{item_id}", bodies.item(), **_headers(version))


def remove(api: Api, cart_id: str, item_id: str, version: str | None) -> HttpResponse:
    return api.delete(f"/{cart_id}/items/{item_id}", **_headers(version))


@pytest.fixture(params=[add, update, remove], ids=["add", "update", "remove"])
def change(request: pytest.FixtureRequest) -> Change:
    found: Change = request.param
    return found


@pytest.mark.parametrize(
    "version",
    [
        None,
        "*",
        '"1"',
        ' "1" ',
        'W/"1"',
        '"7", "1"',
        'W/"1","abc"',
        '"1", "1"',
        '"2" , W/"1", ""',
        '"a,b","1"',
        ", ".join(['"1"'] * 200) + "  ",
    ],
)
def test_a_change_of_the_expected_version_is_made(
    api: Api, change: Change, version: str | None
) -> None:
    cart_id, [item_id] = created_with_items(api, "Calzone")

    response = change(api, cart_id, item_id, version)

    assert response.status_code == 200
    assert response["ETag"] == '"2"'
    assert shown(api, cart_id)["version"] == 2


def test_edits_follow_each_other_without_a_read(api: Api) -> None:
    created = api.post(body=bodies.cart())
    cart_id = created.json()["data"]["cartId"]
    added = api.post(f"/{cart_id}/items", bodies.item(), If_Match=created["ETag"])
    item = f"/{cart_id}/items/{added.json()['data']['itemId']}"
    updated = api.put(item, bodies.item(), If_Match=added["ETag"])
    removed = api.delete(item, If_Match=updated["ETag"])

    answers = (created, added, updated, removed)
    assert [answer["ETag"] for answer in answers] == ['"1"', '"2"', '"3"', '"4"']
    assert api.get(f"/{cart_id}")["ETag"] == '"4"'


def test_a_replay_names_no_version(api: Api) -> None:
    """The cart may have moved on since."""
    first = api.post(body=bodies.cart(), Idempotency_Key="key-1")
    again = api.post(body=bodies.cart(), Idempotency_Key="key-1")

    assert (first["ETag"], again["Idempotent-Replayed"]) == ('"1"', "true")
    assert "ETag" not in again


def test_the_etag_of_a_cart_is_its_if_match(api: Api, change: Change) -> None:
    cart_id, [item_id, other] = created_with_items(api, "First", "Second")
    api.put(f"/{cart_id}/items/{other}", bodies.item())

    etag = api.get(f"/{cart_id}")["ETag"]

    assert change(api, cart_id, item_id, etag).status_code == 200
    assert shown(api, cart_id)["version"] == 3


@pytest.mark.parametrize(
    "version",
    [
        '"1"',
        '"3"',
        '"0"',
        '"02"',
        '"999999999"',
        '"9999999999999999999999"',
        '"abc"',
        '""',
        'W/"1"',
        '"1", "3"',
        'W/"9","abc"',
    ],
    ids=[
        "stale",
        "ahead",
        "zero",
        "leading zero",
        "far ahead",
        "beyond 64 bits",
        "not ours",
        "empty tag",
        "weak",
        "a list",
        "a list of others'",
    ],
)
def test_refuses_a_change_of_another_version(
    api: Api, unchanged: Callable[[], None], change: Change, version: str
) -> None:
    cart_id, [item_id, other] = created_with_items(api, "First", "Second")
    api.put(f"/{cart_id}/items/{other}", bodies.item())
    unchanged()

    response = change(api, cart_id, item_id, version)

    assert response.status_code == 412
    assert response.json() == error(
        "version_mismatch", "The cart has moved on: its version is now 2.", "If-Match"
    )
    assert response["ETag"] == '"2"'


@pytest.mark.parametrize(
    "version",
    ["1", "", '"1', '"1", 2', '"1",', "'1'", '"1""2"', "**", '"\u00e9"', "w/1", '"1" x', '"a b"'],
)
def test_refuses_a_header_that_names_no_version(
    api: Api, unchanged: Callable[[], None], change: Change, version: str
) -> None:
    cart_id, [item_id] = created_with_items(api, "Calzone")
    unchanged()

    response = change(api, cart_id, item_id, version)

    assert response.status_code == 400
    assert response.json() == error(
        "invalid_header",
        'If-Match must be a version in quotes, such as "3", or a list of these.',
        "If-Match",
    )


def test_a_list_of_versions_has_a_length(
    api: Api, unchanged: Callable[[], None], change: Change
) -> None:
    cart_id, [item_id] = created_with_items(api, "Calzone")
    unchanged()

    response = change(api, cart_id, item_id, ", ".join(['"1"'] * 201))

    assert response.status_code == 400
    assert response.json() == error(
        "invalid_header", "If-Match must not be longer than 1,000 bytes.", "If-Match"
    )


def test_of_two_changes_of_one_version_the_second_is_refused(api: Api, change: Change) -> None:
    cart_id, [item_id, other] = created_with_items(api, "First", "Second")

    assert change(api, cart_id, item_id, '"1"').status_code == 200
    assert change(api, cart_id, other, '"1"').status_code == 412
    assert shown(api, cart_id)["version"] == 2


def test_a_missing_item_is_told_before_a_stale_version(
    api: Api, unchanged: Callable[[], None]
) -> None:
    cart_id, [item_id] = created_with_items(api, "Calzone")
    remove(api, cart_id, item_id, None)
    unchanged()

    assert update(api, cart_id, item_id, '"1"').status_code == 404
    assert remove(api, cart_id, item_id, '"1"').status_code == 404
