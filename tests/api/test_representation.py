"""Prefer: return=representation (RFC 7240): the cart back from a change."""

from typing import Any
from uuid import UUID

import pytest

from carts.models import Cart, IdempotencyRecord
from tests.support import bodies
from tests.support.answers import exact
from tests.support.callers import PROFILE, Api
from tests.support.carts import created, shown
from tests.support.operations import REQUESTS, after, send

PREFERRED = "return=representation"
SHOW_THE_CART = [name for name, one in REQUESTS.items() if one.operation.can_return_representation]


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
    members = {"ItemAdded": ["itemId", "cart"], "ItemsPlaced": ["itemIds", "cart"], None: [*cart]}
    assert [*response.json()["data"]] == members[REQUESTS[name].operation.data]


@pytest.mark.parametrize("name", ["Create Cart", "Update Item", "Delete Cart"])
def test_what_the_specification_has_answers_as_it_says(
    api: Api, cart_id: str, item_id: str, name: str
) -> None:
    response = send(api, name, cart_id, item_id, Prefer=PREFERRED)
    assert response.status_code == 200
    assert "Preference-Applied" not in response
    assert list(response.json().get("data", {})) == (["cartId"] if name == "Create Cart" else [])


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


def check_returned(api: Api, cart_id: str, item: Any, *, is_returned: bool) -> Any:
    """Add the item, twice with the same key, and change nothing. Return the cart."""
    prefer: dict[str, str] = {"Prefer": PREFERRED}
    key = prefer | {"Idempotency_Key": "k"}
    responses = [
        *(api.post(f"/{cart_id}/items", item, **key) for _ in range(2)),
        api.patch(f"/{cart_id}", {}, **prefer, Idempotency_Key="other"),
    ]

    assert [one.status_code for one in responses] == [200] * 3
    assert responses[1]["Idempotent-Replayed"] == "true"
    cart = shown(api, cart_id)
    item_id = cart["items"][-1]["itemId"]
    for response, data in zip(responses, [{"itemId": item_id}] * 2 + [{}], strict=True):
        returned = exact(response).get("data", {})
        if is_returned:
            assert returned == ({**data, "cart": cart} if data else cart)
            assert response["Preference-Applied"] == PREFERRED
        else:
            assert returned == data
            assert "Preference-Applied" not in response
    kept = IdempotencyRecord.objects.filter(profile_key=PROFILE).values_list("data", flat=True)
    assert sorted(len(one or "") > 1_000 for one in kept) == [is_returned] * 2
    return cart


@pytest.mark.parametrize("more", [0, 1], ids=["250", "251"])
def test_no_more_than_250_items_and_options_are_returned(api: Api, more: int) -> None:
    half = {"items": [bodies.bare_item(options=[bodies.option()] * 62)] * 3}
    item = bodies.bare_item(options=[bodies.option()] * (60 + more))
    cart_id = created(api, bodies.bare_cart(**half))

    cart = check_returned(api, cart_id, item, is_returned=not more)

    assert len(cart["items"]) + sum(len(one["options"]) for one in cart["items"]) == 250 + more


@pytest.mark.parametrize("more", [0, 1])
def test_no_more_than_64_kib_are_returned(api: Api, more: int) -> None:
    """Of JSON in UTF-8, whatever was sent with the change."""
    item = bodies.bare_item(displayName="é" * 100, price=0)

    def cart_of(items: int, note: int = 1, instructions: int = 1) -> str:
        texts = {"note": "n" * note, "specialInstructions": "i" * instructions}
        return created(api, bodies.bare_cart(items=[item] * items, **texts))

    def size(cart_id: str) -> int:
        return len(Cart.objects.version_and_json(UUID(cart_id))[1].encode())

    one, two = size(cart_of(1)), size(cart_of(2))
    items, rest = divmod(2**16 + more - one, two - one)
    cart_id = cart_of(items, 1 + min(rest, 299), 1 + max(0, rest - 299))

    check_returned(api, cart_id, item, is_returned=not more)

    assert size(cart_id) == 2**16 + more


def test_an_error_shows_no_cart(api: Api, cart_id: str) -> None:
    response = api.patch(f"/{cart_id}", {"note": "x"}, Prefer=PREFERRED, If_Match='"9"')
    assert response.status_code == 412
    assert "Preference-Applied" not in response


@pytest.mark.parametrize("scope", ["Cart.Close", "Cart.Close Cart.Read", "Cart.Close Cart.Write"])
def test_a_cart_is_shown_to_who_may_read_it(api: Api, cart_id: str, scope: str) -> None:
    response = send(Api(scope=scope), "Reopen Cart", cart_id, Prefer=PREFERRED)

    may_read = scope != "Cart.Close"
    assert response.status_code == 200
    assert ("data" in response.json(), "Preference-Applied" in response) == (may_read, may_read)
