import uuid
from collections.abc import Callable

import pytest

from carts.models import CartItem, CartItemOption
from tests.support import bodies
from tests.support.answers import error, problems, success
from tests.support.callers import Api
from tests.support.carts import created, created_with_items, shown

NOWHERE = uuid.UUID(int=0)


@pytest.mark.parametrize("place", [0, 1, 2], ids=["first", "middle", "last"])
def test_removes_one_item_with_its_options(api: Api, place: int) -> None:
    cart_id, item_ids = created_with_items(api, "First", "Second", "Third")
    before = shown(api, cart_id)

    response = api.delete(f"/{cart_id}/items/{item_ids[place]}")

    assert response.status_code == 200
    assert response.json() == success("The item was removed.")
    after = shown(api, cart_id)
    removed = before["items"].pop(place)
    assert after == {
        **before,
        "subtotal": before["subtotal"] - removed["value"],
        "modifiedOn": after["modifiedOn"],
        "version": 2,
    }
    assert after["modifiedOn"] > before["modifiedOn"]
    assert not CartItemOption.objects.filter(item=uuid.UUID(item_ids[place])).exists()


def test_a_cart_may_lose_its_last_item(api: Api) -> None:
    cart_id, [item_id] = created_with_items(api, "Calzone")

    api.delete(f"/{cart_id}/items/{item_id}")

    cart = shown(api, cart_id)
    assert (cart["items"], cart["subtotal"]) == ([], 0)


def test_a_body_is_not_looked_at(api: Api) -> None:
    cart_id, [item_id] = created_with_items(api, "Calzone")

    response = api.request("DELETE", f"/{cart_id}/items/{item_id}", b"{not json")

    assert response.status_code == 200


def test_a_removed_item_stays_removed(api: Api) -> None:
    cart_id, [item_id] = created_with_items(api, "Calzone")
    api.delete(f"/{cart_id}/items/{item_id}")

    response = api.delete(f"/{cart_id}/items/{item_id}")

    assert response.status_code == 404
    assert response.json() == error("item_not_found", "The cart has no such item.")
    assert shown(api, cart_id)["version"] == 2
    assert not CartItem.objects.exists()


def test_refuses_a_cart_that_does_not_exist(api: Api, unchanged: Callable[[], None]) -> None:
    _, [item_id] = created_with_items(api, "Calzone")
    unchanged()

    response = api.delete(f"/{NOWHERE}/items/{item_id}")

    assert response.status_code == 404
    assert response.json() == error("cart_not_found", "This profile has no such cart.")


def test_refuses_an_item_that_does_not_exist(api: Api, unchanged: Callable[[], None]) -> None:
    cart_id = created(api)
    unchanged()

    response = api.delete(f"/{cart_id}/items/{NOWHERE}")

    assert response.status_code == 404
    assert response.json() == error("item_not_found", "The cart has no such item.")


def test_refuses_an_item_of_another_cart(api: Api, unchanged: Callable[[], None]) -> None:
    cart_id = created(api)
    _, [elsewhere] = created_with_items(api, "Calzone")
    unchanged()

    response = api.delete(f"/{cart_id}/items/{elsewhere}")

    assert response.status_code == 404
    assert response.json() == error("item_not_found", "The cart has no such item.")


def test_refuses_keys_that_are_no_guids(api: Api, unchanged: Callable[[], None]) -> None:
    response = api.delete("/mine/items/first")

    assert response.status_code == 400
    assert problems(response) == [("invalid_guid", "cartId"), ("invalid_guid", "itemId")]


def test_refuses_a_token_that_only_reads(api: Api, unchanged: Callable[[], None]) -> None:
    cart_id, [item_id] = created_with_items(api, "Calzone")
    unchanged()

    response = Api(scope="Cart.Read").delete(f"/{cart_id}/items/{item_id}")

    assert response.status_code == 403
    assert response.json() == error("insufficient_scope", "The token must carry Cart.Write.")


def test_a_freed_place_lets_another_item_in(api: Api) -> None:
    cart_id, [first, _] = created_with_items(api, "First", "Second")
    api.delete(f"/{cart_id}/items/{first}")

    api.post(f"/{cart_id}/items", bodies.item(displayName="Third"))

    assert [item["displayName"] for item in shown(api, cart_id)["items"]] == ["Second", "Third"]
