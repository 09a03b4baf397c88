"""If-Match on the operations that change a cart."""

from collections.abc import Callable
from typing import Any

import pytest
from django.http import HttpResponse

from tests.support import bodies
from tests.support.answers import error
from tests.support.callers import Api
from tests.support.carts import created_with_items, shown

Change = Callable[..., HttpResponse]


def update(api: Api, cart: str, item: str, **headers: str) -> Any:
    return api.put(f"/{cart}/items/{item}", bodies.item(), **headers)


CHANGES: dict[str, Change] = {
    "add": lambda api, cart, _, **sent: api.post(f"/{cart}/items", bodies.item(), **sent),
    "update": update,
    "change item": lambda api, cart, item, **sent: api.patch(
        f"/{cart}/items/{item}", {"quantity": 7}, **sent
    ),
    "remove": lambda api, cart, item, **sent: api.delete(f"/{cart}/items/{item}", **sent),
    "change cart": lambda api, cart, _, **sent: api.patch(f"/{cart}", {"note": "x"}, **sent),
}
DELETE: dict[str, Change] = {"delete": lambda api, cart, _, **sent: api.delete(f"/{cart}", **sent)}


@pytest.mark.parametrize(
    "version",
    [
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
def test_a_change_of_the_expected_version_is_made(api: Api, version: str) -> None:
    cart_id, [item_id] = created_with_items(api, "Calzone")

    response = update(api, cart_id, item_id, If_Match=version)

    assert (response.status_code, response["ETag"]) == (200, '"2"')
    assert shown(api, cart_id)["version"] == 2


def test_edits_follow_each_other_without_a_read(api: Api) -> None:
    created = api.post(body=bodies.cart())
    cart_id = created.json()["data"]["cartId"]
    item_id = shown(api, cart_id)["items"][0]["itemId"]
    etag = created["ETag"]
    for version, name in enumerate(["add", "update", "change item", "change cart", "remove"], 2):
        answer = CHANGES[name](api, cart_id, item_id, If_Match=etag)
        assert (answer.status_code, answer["ETag"]) == (200, f'"{version}"')
        assert api.get(f"/{cart_id}")["ETag"] == answer["ETag"]
        etag = answer["ETag"]
    assert api.delete(f"/{cart_id}", If_Match=etag).status_code == 200


def test_a_replay_names_no_version(api: Api) -> None:
    """The cart may have moved on since."""
    first = api.post(body=bodies.cart(), Idempotency_Key="key-1")
    again = api.post(body=bodies.cart(), Idempotency_Key="key-1")

    assert (first["ETag"], again["Idempotent-Replayed"]) == ('"1"', "true")
    assert "ETag" not in again


STALE = ['"1"', '"3"', '"0"', '"02"', '"999999999"', '"9999999999999999999999"', '"abc"', '""']
STALE += ['W/"1"', '"1", "3"', 'W/"9","abc"']


@pytest.mark.parametrize("change", (CHANGES | DELETE).values(), ids=CHANGES | DELETE)
def test_refuses_a_change_of_another_version(
    api: Api, unchanged: Callable[[], None], change: Change
) -> None:
    cart_id, [item_id, other] = created_with_items(api, "First", "Second")
    update(api, cart_id, other)
    unchanged()

    for version in STALE:
        response = change(api, cart_id, item_id, If_Match=version)

        assert (response.status_code, response["ETag"]) == (412, '"2"')
        assert response.json() == error(
            "version_mismatch", "The cart has moved on: its version is now 2.", "If-Match"
        )


NO_VERSIONS = ["1", "", '"1', '"1", 2', '"1",', "'1'", '"1""2"', "**", '"\u00e9"', "w/1"]
NO_VERSIONS += ['"1" x', '"a b"']


def read(api: Api, cart: str, _: str, **headers: str) -> Any:
    return api.get(f"/{cart}", If_None_Match=headers["If_Match"])


@pytest.mark.parametrize(
    ("change", "name"),
    [*[(change, "If-Match") for change in (CHANGES | DELETE).values()], (read, "If-None-Match")],
    ids=[*CHANGES, *DELETE, "read"],
)
def test_refuses_a_header_that_names_no_version(
    api: Api, unchanged: Callable[[], None], change: Change, name: str
) -> None:
    cart_id, [item_id] = created_with_items(api, "Calzone")
    unchanged()
    text = f'{name} must be a version in quotes, such as "3", or a list of these.'

    for version in NO_VERSIONS:
        response = change(api, cart_id, item_id, If_Match=version)
        assert response.status_code == 400
        assert response.json() == error("invalid_header", text, name)
    response = change(api, cart_id, item_id, If_Match=", ".join(['"1"'] * 201))
    assert response.status_code == 400
    assert response.json() == error("invalid_header", text, name)
