"""ISO 4217 codes, and the rule that items and options have the cart's currency."""

from collections.abc import Callable

import pytest

from tests.api.field_places import PLACES, Place, Target
from tests.support import bodies
from tests.support.answers import problems
from tests.support.callers import Api
from tests.support.carts import created, created_with_items, shown

NOT_A_CODE = "This is not an upper-case currency code of ISO 4217, such as EUR."


def _euros_are(currency: str) -> list[dict[str, object]]:
    options = [bodies.option(currency=currency)]
    return [bodies.item(currency=currency, options=options)]


@pytest.mark.parametrize("code", ["EUR", "USD", "GBP", "JPY", "KWD", "CHF", "CLF", "SLE", "XXX"])
def test_takes_current_codes(api: Api, code: str) -> None:
    cart = shown(api, created(api, bodies.cart(currency=code, items=_euros_are(code))))

    assert cart["currency"] == code
    assert cart["items"][0]["currency"] == code
    assert cart["items"][0]["options"][0]["currency"] == code


@pytest.mark.parametrize("place", PLACES, ids=str)
def test_refuses_what_is_no_current_code(
    api: Api, unchanged: Callable[[], None], place: Place
) -> None:
    target = Target(api, place)
    unchanged()

    for code in ("eur", "Eur", "EU", "", "ABC", "DEM", "978", "E R", "\u0395UR", "E\n"):
        target.refuses("invalid_currency", NOT_A_CODE, currency=code)


@pytest.mark.parametrize("place", PLACES[1:], ids=str)
def test_refuses_a_currency_that_is_not_the_carts(
    api: Api, unchanged: Callable[[], None], place: Place
) -> None:
    target = Target(api, place)
    unchanged()

    target.refuses("currency_mismatch", "The cart's currency is EUR.", currency="USD")


def test_names_every_mismatch(api: Api, unchanged: Callable[[], None]) -> None:
    dollars = bodies.option(currency="USD")
    body = bodies.cart(
        items=[
            bodies.item(options=[bodies.option(), dollars]),
            bodies.item(),
            bodies.item(currency="GBP", options=[dollars, bodies.option(), dollars]),
        ]
    )

    assert problems(api.post(body=body)) == [
        ("currency_mismatch", "/items/0/options/1/currency"),
        ("currency_mismatch", "/items/2/currency"),
        ("currency_mismatch", "/items/2/options/0/currency"),
        ("currency_mismatch", "/items/2/options/2/currency"),
    ]


def test_an_item_wholly_in_another_currency_is_refused_as_well(
    api: Api, unchanged: Callable[[], None]
) -> None:
    cart_id, [item_id] = created_with_items(api, "Calzone")
    unchanged()
    [dollars] = _euros_are("USD")
    mismatches = [("currency_mismatch", "/currency"), ("currency_mismatch", "/options/0/currency")]

    for response in (
        api.put(f"/{cart_id}/items/{item_id}", dollars),
        api.post(f"/{cart_id}/items", dollars),
    ):
        assert response.status_code == 400
        assert problems(response) == mismatches


def test_a_mismatch_is_told_after_every_other_problem(
    api: Api, unchanged: Callable[[], None]
) -> None:
    cart_id, [item_id] = created_with_items(api, "Calzone")
    unchanged()
    dollars = bodies.item(currency="USD")
    nowhere = "0f8fad5b-d9cb-469f-a165-70867728950e"

    for path, version, status in [
        (f"/{nowhere}/items/{item_id}", '"1"', 404),
        (f"/{cart_id}/items/{nowhere}", '"1"', 404),
        (f"/{cart_id}/items/{item_id}", '"7"', 412),
        (f"/{cart_id}/items/{item_id}", '"1"', 400),
    ]:
        assert api.put(path, dollars, If_Match=version).status_code == status
    assert problems(api.put(f"/{cart_id}/items/{item_id}", {**dollars, "quantity": 0})) == [
        ("min_value", "/quantity")
    ]
