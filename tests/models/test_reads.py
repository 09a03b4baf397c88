"""What the database writes as JSON is what Python would write, on both databases."""

from collections.abc import Iterable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
import simplejson

from carts.models import Cart, CartItem
from carts.models.columns import column_names
from carts.models.item import ITEM_COLUMNS, OPTION_COLUMNS
from carts.values import NewCart
from cartsvc.text import camel_case
from tests.support.callers import Api
from tests.support.factories import CartFactory, ItemFactory, OptionFactory
from tests.support.stored import unguarded

pytestmark = pytest.mark.django_db

TEXTS = [
    'No "onions"\r\n\tplease',
    "back\\slash / slash",
    "\U0001f355 \u00fc \u2028\u2029 \u202e \ufeff",
    "</script>",
    " ",
    "%s %(id)s {0}",
]
PRICES = ["0", "0.0001", "1", "10.1", "0.3", "100", "1234567890.1234", "9999999999.9999"]


def large() -> Any:
    options = [OptionFactory(price=Decimal(price), display_name=TEXTS[0][:8]) for price in PRICES]
    return CartFactory(
        note=TEXTS[2],
        platform=TEXTS[1],
        items=[
            ItemFactory(
                price=Decimal(price),
                quantity=9_999,
                menu_item_key=2**63 - 1,
                special_instructions=TEXTS[number % len(TEXTS)] if number % 2 else None,
                display_name=f'{number}: \\ "\U0001f355"',
                options=options[:number],
            )
            for number, price in enumerate(PRICES)
        ],
    )


def number(value: Decimal) -> Decimal:
    whole = value.to_integral_value()
    return whole if whole == value else value.normalize()


def members(row: Any, names: Iterable[str]) -> dict[str, Any]:
    values = {camel_case(name): getattr(row, name) for name in names}
    return values | ({"price": number(row.price)} if "price" in values else {})


def written(cart: Cart, **contents: Any) -> str:
    """Return what Python would write of the cart."""
    shown = {
        "cartId": str(cart.pk),
        "profileKey": str(cart.profile_key),
        **members(cart, column_names(NewCart)),
        **contents,
        "subtotal": number(cart.subtotal),
        "createdOn": cart.created_on.isoformat(timespec="microseconds").replace("+00:00", "Z"),
        "modifiedOn": cart.modified_on.isoformat(timespec="microseconds").replace("+00:00", "Z"),
        "version": cart.version,
        "status": "open",
        "closedOn": None,
        "closedUntil": None,
        "reference": None,
        "expiresOn": None,
    }
    return simplejson.dumps(shown, ensure_ascii=False, separators=(",", ":"), use_decimal=True)


def test_the_text_is_the_bytes_that_python_would_write() -> None:
    cart = large()
    items = [
        {
            "itemId": str(item.pk),
            **members(item, ITEM_COLUMNS[:-1]),
            "options": [members(option, OPTION_COLUMNS) for option in item.options.all()],
            **members(item, ITEM_COLUMNS[-1:]),
            "value": number(item.value),
        }
        for item in cart.items.all()
    ]

    assert Cart.objects.find(cart.pk) == (1, written(cart, items=items))
    [row] = Cart.objects.page(1)
    assert tuple(row) == (cart.pk, written(cart, itemCount=len(PRICES)))
    api, data = Api(cart.profile_key), '"additionalData":null}],"data":'
    shown = api.get(f"/{cart.pk}").content.decode().partition(data)[2]
    assert shown == f"{written(cart, items=items)}}}"
    shown = api.get().content.decode().partition(data)[2]
    assert shown == f'{{"carts":[{written(cart, itemCount=8)}],"nextCursor":null}}}}'


@pytest.mark.parametrize("microsecond", [0, 1, 120_000, 999_999])
def test_a_moment_has_six_digits_of_a_second(microsecond: int) -> None:
    moment = datetime(2036, 1, 2, 3, 4, 5, microsecond, UTC)
    cart = CartFactory()
    Cart.objects.at(moment).change_cart(cart.pk, {"note": None, "platform": "web"})
    cart.refresh_from_db()

    assert Cart.objects.find(cart.pk) == (2, written(cart, items=[]))


def test_a_currency_that_is_withdrawn_reads_as_before(client: Any, django_user_model: Any) -> None:
    """ISO 4217 has withdrawn BGN on 1 January 2026."""
    cart = CartFactory(items=[ItemFactory()])
    for model in (Cart, CartItem):
        unguarded(model).update(currency="BGN")
    client.force_login(django_user_model.objects.create_superuser("ada"))

    shown = Api(cart.profile_key).get(f"/{cart.pk}").json()["data"]
    assert (shown["currency"], shown["items"][0]["currency"]) == ("BGN", "BGN")
    for page in ("", f"{cart.pk}/change/", f"{cart.pk}/items/{cart.items.get().pk}/"):
        response = client.get(f"/admin/carts/cart/{page}")
        assert response.status_code == 200
        assert "BGN" in response.text
