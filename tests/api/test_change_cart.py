"""Change Cart: PATCH /carts/{cartId}, an extension."""

from functools import partial
from typing import Any

import pytest

from carts.models import CartChange
from tests.support import bodies
from tests.support.answers import exact, success
from tests.support.callers import Api
from tests.support.carts import created_with_items, shown
from tests.support.operations import send
from tests.support.table_contents import Unchanged

CHANGE = {
    "platform": "web",
    "orderingChannel": "KIOSK",
    "fulfilmentChannel": "PICKUP",
    "note": "To the office",
    "specialInstructions": "Knock\nThird floor",
}


ONE_BY_ONE = [{name: value} for name, value in CHANGE.items()]


@pytest.mark.parametrize("change", [CHANGE, *ONE_BY_ONE], ids=" ".join)
def test_changes_what_is_sent_and_nothing_else(api: Api, change: dict[str, str]) -> None:
    cart_id, _ = created_with_items(api, "Calzone", "Pizza")
    before = shown(api, cart_id)

    response = api.patch(f"/{cart_id}", change)

    assert (response.status_code, response.json()) == (200, success("The cart was changed."))
    assert response["ETag"] == '"2"'
    after = shown(api, cart_id)
    assert after == before | change | {"version": 2, "modifiedOn": after["modifiedOn"]}
    assert after["modifiedOn"] > before["modifiedOn"]
    [record] = CartChange.objects.all()
    assert (record.operation, record.item_id, record.version) == ("Change Cart", None, 2)
    assert [*record.new.values()] == [*change.values()]
    assert [*record.old.values()] == [before[name] for name in change]
    assert record.subtotal_before == record.subtotal_after


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("Change Cart", {}),
        ("Change Cart", {"note": bodies.cart()["note"]}),
        ("Change Item", {}),
        ("Change Item", {"quantity": bodies.item()["quantity"]}),
    ],
)
def test_what_is_held_already_changes_nothing(
    api: Api, cart_id: str, item_id: str, unchanged: Unchanged, name: str, body: Any
) -> None:
    change = partial(send, api, name, cart_id, item_id, body)

    response = change(If_Match='"1"', Prefer="return=representation")

    assert (response.status_code, response["ETag"]) == (200, '"1"')
    assert exact(response) == success("Nothing was changed.", shown(api, cart_id))
    assert change(If_Match='"7"').status_code == 412


CLOSING = {"outcome": "ordered", "reference": "order-1"}


@pytest.mark.parametrize(
    ("name", "closed"),
    [
        *(
            ("Change Cart", None),
            ("Change Item", None),
            ("Replace Items", None),
            ("Reopen Cart", None),
        ),
        *(("Close Cart", CLOSING), ("Reopen Cart", CLOSING)),
    ],
)
def test_what_changes_nothing_says_so_to_a_replay_too(
    api: Api, cart_id: str, item_id: str, name: str, closed: Any
) -> None:
    items = [{"itemId": item_id, **bodies.item()}]
    body: Any = {"Replace Items": {"items": items}, "Close Cart": CLOSING, "Reopen Cart": "null"}
    body = body.get(name, {})
    if closed:
        send(api, "Close Cart", cart_id, body=CLOSING)
    change = partial(send, api, name, cart_id, item_id, body, Idempotency_Key="k")
    first, replayed = change(), change()

    if name == "Reopen Cart" and closed:
        assert first.json() == replayed.json() == success("The cart is open.")
        return
    ids = {"itemIds": [item_id]} if name == "Replace Items" else None
    assert first.json() == replayed.json() == success("Nothing was changed.", ids)
    assert first["ETag"] == replayed["ETag"] == ('"2"' if closed else '"1"')


def test_update_item_replaces_an_item_by_its_like(api: Api, cart_id: str, item_id: str) -> None:
    """The specification has one answer for it."""
    response = send(api, "Update Item", cart_id, item_id, bodies.item())
    assert (response.json(), response["ETag"]) == (success("The item was updated."), '"2"')


@pytest.mark.parametrize(
    ("media_type", "status"),
    [
        ("application/json", 200),
        ("application/merge-patch+json; charset=utf-8", 200),
        ("application/merge-patch+json; charset=utf-16", 415),
        ("application/json-patch+json", 415),
    ],
)
def test_takes_json_and_merge_patches(
    api: Api, cart_id: str, item_id: str, media_type: str, status: int
) -> None:
    for path in (f"/{cart_id}", f"/{cart_id}/items/{item_id}"):
        response = api.patch(path, {"specialInstructions": "x"}, Content_Type=media_type)
        assert response.status_code == status
        if status == 415:
            assert response["Accept-Patch"] == "application/json, application/merge-patch+json"
    cart = shown(api, cart_id)
    kept = {cart["specialInstructions"], cart["items"][0]["specialInstructions"]}
    assert (kept == {"x"}) == (status == 200)
