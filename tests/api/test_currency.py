"""ISO 4217 codes, and the rule that items and options have the cart's currency."""

from collections.abc import Callable

import pytest

from tests.api.field_places import PLACES, Place, Target
from tests.support import bodies
from tests.support.answers import problems
from tests.support.callers import Api
from tests.support.carts import created, shown


def _euros_are(currency: str) -> list[dict[str, object]]:
    options = [bodies.option(currency=currency)]
    return [bodies.item(currency=currency, options=options)]


@pytest.mark.parametrize("code", ["EUR", "USD", "GBP", "JPY", "KWD", "CHF", "CLF", "SLE", "XXX"])
def test_takes_current_codes(api: Api, code: str) -> None:
    cart = shown(api, created(api, bodies.cart(currency=code, items=_euros_are(code))))

    assert cart["currency"] == code
    assert cart["items"][0]["currency"] == code
    assert cart["items"][0]["options"][0]["currency"] == code


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
