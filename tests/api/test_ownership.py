"""Who may do what: scopes, and what is another's is answered as if it did not exist."""

import uuid
from collections.abc import Callable
from typing import Any

import pytest
from django.http import HttpResponse

from tests.support import bodies
from tests.support.answers import error, problems
from tests.support.callers import PROFILE, STRANGER, Api
from tests.support.carts import created, created_with_items, shown

NO_CART = error("cart_not_found", "This profile has no such cart.")
NO_ITEM = error("item_not_found", "The cart has no such item.")

Call = Callable[[Api, str, str], HttpResponse]

# The operations on an existing cart, with the body of each.
ON_A_CART: dict[str, Call] = {
    "get": lambda api, cart, _: api.get(f"/{cart}"),
    "add": lambda api, cart, _: api.post(f"/{cart}/items", bodies.item()),
    "update": lambda api, cart, item: api.put(f"/{cart}/items/{item}", bodies.item()),
    "remove": lambda api, cart, item: api.delete(f"/{cart}/items/{item}"),
}
ON_ALL: dict[str, Call] = {
    "create": lambda api, *_: api.post(body=bodies.cart()),
    "list": lambda api, *_: api.get(),
    **ON_A_CART,
}


@pytest.mark.parametrize("call", ON_ALL.values(), ids=ON_ALL)
def test_a_token_of_a_profile_opens_its_carts(api: Api, call: Call) -> None:
    cart_id, [item_id] = created_with_items(api, "Calzone")

    response = call(Api(profileKey=str(PROFILE)), cart_id, item_id)

    assert response.status_code == 200


@pytest.mark.parametrize("call", ON_ALL.values(), ids=ON_ALL)
def test_a_token_of_a_profile_opens_no_other_path(
    api: Api, unchanged: Callable[[], None], call: Call
) -> None:
    cart_id, [item_id] = created_with_items(api, "Calzone")
    unchanged()

    response = call(Api(profileKey=str(STRANGER)), cart_id, item_id)

    assert response.status_code == 403
    assert response.json() == error(
        "profile_mismatch", "The token does not open this customer profile.", "profileKey"
    )


@pytest.mark.parametrize(
    ("name", "scope", "demanded"),
    [
        ("list", "Menu.Read", "Cart.Read or Cart.Write"),
        ("get", "Menu.Read", "Cart.Read or Cart.Write"),
        *((name, "Cart.Read", "Cart.Write") for name in ("create", "add", "update", "remove")),
    ],
)
def test_an_operation_asks_for_its_scope(
    api: Api, unchanged: Callable[[], None], name: str, scope: str, demanded: str
) -> None:
    cart_id, [item_id] = created_with_items(api, "Calzone")
    unchanged()

    response = ON_ALL[name](Api(scope=scope), cart_id, item_id)

    assert response.status_code == 403
    assert response.json() == error("insufficient_scope", f"The token must carry {demanded}.")


@pytest.mark.parametrize("name", ["list", "get"])
def test_a_reader_may_read(api: Api, name: str) -> None:
    cart_id = created(api)

    assert ON_ALL[name](Api(scope="Cart.Read"), cart_id, "").status_code == 200


@pytest.mark.parametrize("name", ON_A_CART)
def test_keys_that_are_no_guids_are_named(
    api: Api, unchanged: Callable[[], None], name: str
) -> None:
    response = ON_A_CART[name](api, "mine", "first")

    fields = ["cartId", "itemId"] if name in {"update", "remove"} else ["cartId"]
    assert response.status_code == 400
    assert problems(response) == [("invalid_guid", field) for field in fields]


@pytest.mark.parametrize("call", ON_A_CART.values(), ids=ON_A_CART)
@pytest.mark.parametrize(
    "claims", [{}, {"profileKey": str(STRANGER)}], ids=["back end", "customer"]
)
def test_a_cart_under_another_profile_does_not_exist(
    api: Api, unchanged: Callable[[], None], call: Call, claims: dict[str, Any]
) -> None:
    cart_id, [item_id] = created_with_items(api, "Calzone")
    stranger = Api(STRANGER, **claims)
    unchanged()

    response = call(stranger, cart_id, item_id)

    assert response.status_code == 404
    assert response.json() == NO_CART
    assert response.content == call(stranger, str(uuid.uuid4()), item_id).content


@pytest.mark.parametrize("call", ON_A_CART.values(), ids=ON_A_CART)
def test_a_cart_of_another_partner_does_not_exist(
    api: Api, unchanged: Callable[[], None], call: Call
) -> None:
    cart_id, [item_id] = created_with_items(api, "Calzone")
    stranger = Api(partnerKey="OTHR")
    unchanged()

    response = call(stranger, cart_id, item_id)

    assert response.status_code == 404
    assert response.json() == NO_CART
    assert response.content == call(stranger, str(uuid.uuid4()), item_id).content


@pytest.mark.parametrize("call", ON_ALL.values(), ids=ON_ALL)
def test_a_token_of_a_partner_opens_its_carts(api: Api, call: Call) -> None:
    cart_id, [item_id] = created_with_items(api, "Calzone")

    response = call(Api(partnerKey="ACME", profileKey=str(PROFILE)), cart_id, item_id)

    assert response.status_code == 200


def test_a_list_holds_the_partners_carts_only(api: Api) -> None:
    ours = created(api)
    theirs = created(api, bodies.cart(partnerKey="OTHR"))

    def listed(caller: Api) -> list[str]:
        return [cart["cartId"] for cart in caller.get().json()["data"]["carts"]]

    assert listed(Api(partnerKey="ACME")) == [ours]
    assert listed(Api(partnerKey="OTHR")) == [theirs]
    assert listed(Api(partnerKey="NONE")) == []
    assert listed(api) == [theirs, ours]
    assert listed(Api(STRANGER)) == []


@pytest.mark.parametrize("name", ["update", "remove"])
def test_an_item_under_another_cart_of_the_same_profile_does_not_exist(
    api: Api, unchanged: Callable[[], None], name: str
) -> None:
    cart_id = created(api)
    _, [elsewhere] = created_with_items(api, "Calzone")
    unchanged()

    response = ON_A_CART[name](api, cart_id, elsewhere)

    assert response.status_code == 404
    assert response.json() == NO_ITEM
    assert response.content == ON_A_CART[name](api, cart_id, str(uuid.uuid4())).content


@pytest.mark.parametrize("name", ["update", "remove"])
def test_a_strangers_item_does_not_exist(
    api: Api, unchanged: Callable[[], None], name: str
) -> None:
    stranger = Api(STRANGER)
    cart_id = created(stranger)
    _, [ours] = created_with_items(api, "Calzone")
    unchanged()

    response = ON_A_CART[name](stranger, cart_id, ours)

    assert response.status_code == 404
    assert response.json() == NO_ITEM


@pytest.mark.parametrize("name", ["add", "update", "remove"])
def test_a_stranger_learns_no_version_and_no_currency(
    api: Api, unchanged: Callable[[], None], name: str
) -> None:
    cart_id, [item_id] = created_with_items(api, "Calzone")
    unchanged()
    for stranger in (Api(STRANGER), Api(partnerKey="OTHR")):
        dollars = bodies.item(currency="USD")
        path = f"/{cart_id}/items" + ("" if name == "add" else f"/{item_id}")
        method = {"add": "POST", "update": "PUT", "remove": "DELETE"}[name]

        response = stranger.request(method, path, dollars, If_Match='"9"')

        assert problems(response) == [("cart_not_found", None)]


def test_a_read_changes_nothing(api: Api, unchanged: Callable[[], None]) -> None:
    cart_id = created(api)
    unchanged()

    assert shown(api, cart_id) == shown(api, cart_id)
    assert api.get().content == api.get().content
