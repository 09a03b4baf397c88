"""Prefer: return=representation (RFC 7240): the cart back from a change."""

from typing import Any

import pytest

from tests.api.valid_requests import CHANGES, after, send
from tests.support.answers import exact
from tests.support.callers import Api
from tests.support.carts import shown

PREFERRED = "return=representation"
SHOW_THE_CART = [name for name in [*CHANGES, "reopen"] if name not in {"update", "delete"}]


def cart_of(response: Any) -> Any:
    data = exact(response)["data"]
    return data.get("cart", data)


@pytest.mark.parametrize("name", SHOW_THE_CART)
def test_the_cart_is_shown_as_get_cart_shows_it(
    api: Api, cart_id: str, item_id: str, name: str
) -> None:
    response = send(api, name, cart_id, item_id, Prefer=PREFERRED)

    assert response["Preference-Applied"] == PREFERRED
    cart = shown(after(name, api), cart_id)
    assert cart_of(response) == cart
    assert response["ETag"] == f'"{cart["version"]}"'
    members = {"add": ["itemId", "cart"], "add several": ["itemIds", "cart"]}
    members["replace all"] = members["add several"]
    assert [*response.json()["data"]] == members.get(name, [*cart])


@pytest.mark.parametrize("name", ["create", "update", "delete"])
def test_what_the_specification_has_answers_as_it_says(
    api: Api, cart_id: str, item_id: str, name: str
) -> None:
    response = send(api, name, cart_id, item_id, Prefer=PREFERRED)
    assert response.status_code == 200
    assert "Preference-Applied" not in response
    assert list(response.json().get("data", {})) == (["cartId"] if name == "create" else [])


STRICT = "handling=strict"
APPLIED = {
    STRICT: [
        *('handling="strict"', "Handling = strict", "handling=strict, handling=lenient"),
        *("respond-async, handling=strict; x=1", 'foo="a, handling=lenient", handling=strict'),
    ],
    PREFERRED: ["RETURN=Representation", "return=representation, return=minimal"],
    f"{STRICT}, {PREFERRED}": [
        f"{PREFERRED}, {STRICT}",
        'handling=strict; x=y, return="representation"',
    ],
    None: [
        *("", "strict", "handling", "handling=strictly", "x-handling=strict", "respond-async"),
        *("handling=lenient, handling=strict", 'handling="strict;x"', "handling;x=strict"),
        *("return=minimal, return=representation", "return=minimal", "return"),
        "handling=strict" + "," * 1000,  # too long to be read
    ],
}


@pytest.mark.parametrize(
    ("prefer", "applied"),
    [
        pytest.param(prefer, applied, id=prefer[:50])
        for applied, group in APPLIED.items()
        for prefer in group
    ],
)
def test_what_is_preferred(api: Api, cart_id: str, prefer: str, applied: str | None) -> None:
    response = api.patch(f"/{cart_id}", {"note": "x"}, Prefer=prefer)
    assert response.headers.get("Preference-Applied") == applied
    assert ("data" in response.json()) == (PREFERRED in (applied or ""))


def test_an_error_shows_no_cart(api: Api, cart_id: str) -> None:
    response = api.patch(f"/{cart_id}", {"note": "x"}, Prefer=PREFERRED, If_Match='"9"')
    assert response.status_code == 412
    assert "Preference-Applied" not in response


@pytest.mark.parametrize("scope", ["Cart.Close", "Cart.Close Cart.Read", "Cart.Close Cart.Write"])
def test_a_cart_is_shown_to_who_may_read_it(api: Api, cart_id: str, scope: str) -> None:
    response = send(Api(scope=scope), "reopen", cart_id, Prefer=PREFERRED)

    may_read = scope != "Cart.Close"
    assert response.status_code == 200
    assert ("data" in response.json(), "Preference-Applied" in response) == (may_read, may_read)
