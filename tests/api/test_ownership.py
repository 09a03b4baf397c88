"""Who may do what: scopes, and what is another's is answered as if it did not exist."""

import uuid
from typing import Any

import pytest

from tests.support import bodies
from tests.support.answers import assert_refused, errors_of
from tests.support.callers import PROFILE, STRANGER, Api
from tests.support.carts import created, created_with_items
from tests.support.operations import OF_A_CUSTOMER, ON_A_CART, ON_AN_ITEM, READS, REQUESTS, send
from tests.support.table_contents import Unchanged


@pytest.mark.parametrize("name", OF_A_CUSTOMER)
def test_a_token_opens_its_own_carts(cart_id: str, item_id: str, name: str) -> None:
    owner = Api(profileKey=str(PROFILE), partnerKey="ACME")

    assert send(owner, name, cart_id, item_id).status_code == 200


@pytest.mark.parametrize("name", OF_A_CUSTOMER)
def test_an_operation_asks_for_its_scope(
    cart_id: str, item_id: str, unchanged: Unchanged, name: str
) -> None:
    scopes = {"Cart.Read", "Cart.Write", "Cart.Close", "Menu.Read"}
    opens = [scope for scope in REQUESTS[name].operation.scopes if scope in scopes]

    for scope in scopes.difference(opens):
        response = send(Api(scope=f"{scope} Cart.AnyProfile"), name, cart_id, item_id)

        text = f"The token must carry {' or '.join(opens)}."
        assert_refused(response, 403, "insufficient_scope", text, scopes=opens)


def test_what_a_scope_opens() -> None:
    opened = {
        scope: {name for name, one in REQUESTS.items() if scope in one.operation.scopes}
        for scope in ("Cart.Read", "Cart.Write", "Cart.Close")
    }
    ends = {"Close Cart", "Reopen Cart"}
    assert opened == {
        "Cart.Read": {*READS, "List Changes"},
        "Cart.Write": {*OF_A_CUSTOMER} - ends,
        "Cart.Close": ends,
    }


NO_GUIDS = [
    *("42", PROFILE.hex, f"{{{PROFILE}}}", f"{PROFILE}0", str(PROFILE)[:-1] + "g", f"{PROFILE}%0A"),
    *("%D9%A0" + str(PROFILE)[1:], f"urn:uuid:{PROFILE}", "%00"),
]


@pytest.mark.parametrize("key", NO_GUIDS)
def test_a_profile_key_that_is_no_guid_is_refused(api: Api, unchanged: Unchanged, key: str) -> None:
    api.base = api.base.replace(str(PROFILE), key)

    response = send(api, "Create Cart")

    text = "profileKey must be a GUID: 8-4-4-4-12 hexadecimal digits."
    assert_refused(response, 400, "invalid_guid", text, "profileKey")


@pytest.mark.parametrize("name", ON_A_CART)
def test_keys_that_are_no_guids_are_named(api: Api, unchanged: Unchanged, name: str) -> None:
    response = send(api, name, "mine", "first")

    fields = ["cartId", "itemId"] if name in ON_AN_ITEM else ["cartId"]
    assert response.status_code == 400
    assert errors_of(response) == [("invalid_guid", field) for field in fields]


@pytest.mark.parametrize("name", ON_A_CART)
@pytest.mark.parametrize(
    ("profile", "claims"),
    [(STRANGER, {}), (STRANGER, {"profileKey": str(STRANGER)}), (PROFILE, {"partnerKey": "OTHR"})],
    ids=["back end", "customer", "partner"],
)
def test_anothers_cart_does_not_exist(
    cart_id: str,
    item_id: str,
    unchanged: Unchanged,
    name: str,
    profile: uuid.UUID,
    claims: dict[str, Any],
) -> None:
    """It tells no version and no currency either."""
    stranger = Api(profile, **claims)
    nobodys = str(uuid.uuid4())

    for response in (
        send(stranger, name, cart_id, item_id, If_Match='"9"'),
        send(stranger, "Add Item", cart_id, body=bodies.item(currency="USD")),
        send(stranger, name, nobodys, item_id),
    ):
        assert_refused(response, 404, "cart_not_found", "This profile has no such cart.")


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
def test_an_item_of_another_cart_or_a_removed_one_does_not_exist(
    api: Api, item_id: str, unchanged: Unchanged, name: str
) -> None:
    """A missing item comes before a stale version."""
    strangers = created(Api(STRANGER))
    other_id, [removed] = created_with_items(api, "Gelato")
    send(api, "Remove Item", other_id, removed)
    unchanged()

    for response in (
        send(api, name, other_id, item_id, If_Match='"9"'),
        send(api, name, other_id, removed),
        send(api, name, other_id, str(uuid.uuid4())),
        send(Api(STRANGER), name, strangers, item_id),
    ):
        assert_refused(response, 404, "item_not_found", "The cart has no such item.")
