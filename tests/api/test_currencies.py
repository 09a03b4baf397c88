import pytest

from tests.support import bodies
from tests.support.answers import errors_of
from tests.support.callers import Api
from tests.support.carts import created, shown
from tests.support.table_contents import Unchanged


@pytest.mark.parametrize("code", ["USD", "JPY", "KWD", "CLF", "SLE", "XXX"])
def test_takes_current_codes(api: Api, code: str) -> None:
    item = bodies.item(currency=code, options=[bodies.option(currency=code)])

    cart = shown(api, created(api, bodies.cart(currency=code, items=[item])))

    assert cart["currency"] == code
    assert cart["items"][0]["currency"] == code
    assert cart["items"][0]["options"][0]["currency"] == code


def test_names_every_mismatch(api: Api, unchanged: Unchanged) -> None:
    dollars = bodies.option(currency="USD")
    body = bodies.cart(
        items=[
            bodies.item(options=[bodies.option(), dollars]),
            bodies.item(),
            bodies.item(currency="GBP", options=[dollars, bodies.option(), dollars]),
        ]
    )

    assert errors_of(api.post(body=body)) == [
        ("currency_mismatch", "/items/0/options/1/currency"),
        ("currency_mismatch", "/items/2/currency"),
        ("currency_mismatch", "/items/2/options/0/currency"),
        ("currency_mismatch", "/items/2/options/2/currency"),
    ]
