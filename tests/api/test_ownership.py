"""Who may do what: scopes, and what is another's is answered as if it did not exist."""

import uuid
from collections.abc import Callable
from typing import Any

import pytest

from tests.support import bodies
from tests.support.answers import error, problems
from tests.support.callers import PROFILE, STRANGER, Api
from tests.support.carts import created, created_with_items

NO_CART = error("cart_not_found", "This profile has no such cart.")
NO_ITEM = error("item_not_found", "The cart has no such item.")

ON_AN_ITEM: dict[str, tuple[str, str, Any]] = {
    "update": ("PUT", "/{cart}/items/{item}", bodies.item()),
    "change item": ("PATCH", "/{cart}/items/{item}", {"quantity": 7}),
    "remove": ("DELETE", "/{cart}/items/{item}", None),
}
ON_A_CART: dict[str, tuple[str, str, Any]] = {
    "get": ("GET", "/{cart}", None),
    "change cart": ("PATCH", "/{cart}", {"note": "x"}),
    "delete": ("DELETE", "/{cart}", None),
    "add": ("POST", "/{cart}/items", bodies.item()),
    **ON_AN_ITEM,
}
ON_ALL: dict[str, tuple[str, str, Any]] = {
    "create": ("POST", "", bodies.cart()),
    "list": ("GET", "", None),
    **ON_A_CART,
}
READS = {"get", "list"}


def send(api: Api, name: str, cart: str, item: str, **headers: str) -> Any:
    method, path, body = ON_ALL[name]
    return api.request(method, path.format(cart=cart, item=item), body, **headers)


@pytest.mark.parametrize("name", ON_ALL)
@pytest.mark.parametrize(
    "claims",
    [{"profileKey": str(PROFILE)}, {"partnerKey": "ACME", "profileKey": str(PROFILE)}],
    ids=["profile", "partner"],
)
def test_a_token_opens_its_own_carts(api: Api, name: str, claims: dict[str, Any]) -> None:
    cart_id, [item_id] = created_with_items(api, "Calzone")

    assert send(Api(**claims), name, cart_id, item_id).status_code == 200


@pytest.mark.parametrize("name", ON_ALL)
def test_a_token_of_a_profile_opens_no_other_path(
    api: Api, unchanged: Callable[[], None], name: str
) -> None:
    cart_id, [item_id] = created_with_items(api, "Calzone")
    unchanged()

    response = send(Api(profileKey=str(STRANGER)), name, cart_id, item_id)

    assert response.status_code == 403
    assert response.json() == error(
        "profile_mismatch", "The token does not open this customer profile.", "profileKey"
    )


@pytest.mark.parametrize("name", ON_ALL)
def test_an_operation_asks_for_its_scope(
    api: Api, unchanged: Callable[[], None], name: str
) -> None:
    cart_id, [item_id] = created_with_items(api, "Calzone")
    unchanged()
    demanded = "Cart.Read or Cart.Write" if name in READS else "Cart.Write"

    reader = send(Api(scope="Cart.Read"), name, cart_id, item_id)
    other = send(Api(scope="Menu.Read"), name, cart_id, item_id)

    assert (reader.status_code, other.status_code) == (200 if name in READS else 403, 403)
    assert other.json() == error("insufficient_scope", f"The token must carry {demanded}.")


@pytest.mark.parametrize("name", ON_A_CART)
def test_keys_that_are_no_guids_are_named(
    api: Api, unchanged: Callable[[], None], name: str
) -> None:
    response = send(api, name, "mine", "first")

    fields = ["cartId", "itemId"] if name in ON_AN_ITEM else ["cartId"]
    assert response.status_code == 400
    assert problems(response) == [("invalid_guid", field) for field in fields]


@pytest.mark.parametrize("name", ON_A_CART)
@pytest.mark.parametrize(
    ("profile", "claims"),
    [(STRANGER, {}), (STRANGER, {"profileKey": str(STRANGER)}), (PROFILE, {"partnerKey": "OTHR"})],
    ids=["back end", "customer", "partner"],
)
def test_anothers_cart_does_not_exist(
    api: Api,
    unchanged: Callable[[], None],
    name: str,
    profile: uuid.UUID,
    claims: dict[str, Any],
) -> None:
    """It tells no version and no currency either."""
    cart_id, [item_id] = created_with_items(api, "Calzone")
    stranger = Api(profile, **claims)
    unchanged()

    response = send(stranger, name, cart_id, item_id, If_Match='"9"')
    dollars = stranger.post(f"/{cart_id}/items", bodies.item(currency="USD"))

    assert (response.status_code, response.json()) == (404, NO_CART)
    assert (dollars.status_code, dollars.json()) == (404, NO_CART)
    assert response.content == send(stranger, name, str(uuid.uuid4()), item_id).content


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


@pytest.mark.parametrize("name", ON_AN_ITEM)
def test_an_item_of_another_cart_does_not_exist(
    api: Api, unchanged: Callable[[], None], name: str
) -> None:
    """A missing item comes before a stale version."""
    cart_id, strangers = created(api), created(Api(STRANGER))
    _, [elsewhere] = created_with_items(api, "Calzone")
    unchanged()

    for response in (
        send(api, name, cart_id, elsewhere, If_Match='"9"'),
        send(api, name, cart_id, str(uuid.uuid4())),
        send(Api(STRANGER), name, strangers, elsewhere),
    ):
        assert (response.status_code, response.json()) == (404, NO_ITEM)


def test_a_read_changes_nothing(api: Api, unchanged: Callable[[], None]) -> None:
    path = f"/{created(api)}"
    unchanged()

    assert api.get(path).content == api.get(path).content
    assert api.get().content == api.get().content
