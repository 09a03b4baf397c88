from datetime import UTC, datetime
from decimal import Decimal

import pytest

from tests.support import bodies
from tests.support.answers import exact, success
from tests.support.callers import Api
from tests.support.carts import created, shown

LARGEST = 9_999_999_999.9999


@pytest.mark.parametrize("scope", ["Cart.Read", "Cart.Write"])
def test_shows_a_cart_to_readers_and_writers(api: Api, scope: str) -> None:
    cart_id = created(api)

    response = Api(scope=scope).get(f"/{cart_id}")

    assert response.status_code == 200
    assert exact(response) == success("The cart was found.", shown(api, cart_id))
    assert response["ETag"] == '"1"'


@pytest.mark.parametrize(
    ("prices", "quantity", "value"),
    [
        ([10.1], 1, "10.1"),
        ([0.1, 0.2], 3, "0.9"),
        ([0], 9_999, "0"),
        ([5], 2, "10"),
        ([0.0001], 9_999, "0.9999"),
        ([1_000_000_000], 10, "10000000000"),
        ([LARGEST], 1, "9999999999.9999"),
        ([LARGEST] * 3, 9_999, "299969999999997.0003"),
        ([LARGEST] * 101, 9_999, "10098989999999899.0101"),
        ([1234567890.1234, 0.0001], 7, "8641975230.8645"),
    ],
)
def test_values_are_exact(api: Api, prices: list[float], quantity: int, value: str) -> None:
    item = bodies.item(
        price=prices[0],
        quantity=quantity,
        options=[bodies.option(price=price) for price in prices[1:]],
    )

    cart_id = created(api, bodies.cart(items=[item]))

    text = api.get(f"/{cart_id}").content.decode()
    assert f'"value":{value}}}' in text
    assert f'"subtotal":{value},' in text
    [summary] = exact(api.get())["data"]["carts"]
    assert summary["subtotal"] == Decimal(value)


@pytest.mark.parametrize(
    ("price", "text"),
    [(10.10, "10.1"), (10, "10"), (10.0, "10"), (0, "0"), (1e3, "1000"), (1e-4, "0.0001")],
)
def test_prices_are_json_numbers_without_exponents(api: Api, price: float, text: str) -> None:
    cart_id = created(api, bodies.cart(items=[bodies.bare_item(price=price, quantity=3)]))

    assert f'"price":{text},' in api.get(f"/{cart_id}").content.decode()


def test_times_are_rfc_3339_in_utc(api: Api) -> None:
    before = datetime.now(UTC)
    cart = shown(api, created(api))

    for name in ("createdOn", "modifiedOn"):
        assert cart[name].endswith("Z")
        assert before <= datetime.fromisoformat(cart[name]) <= datetime.now(UTC)
