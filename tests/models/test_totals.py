"""The totals stored with a cart match its items exactly."""

from decimal import Decimal
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from carts.models import Cart, CartItem
from carts.models.state import Totals
from cartsvc.errors import Refusal
from tests.support import bodies
from tests.support.answers import exact, problems
from tests.support.callers import Api
from tests.support.carts import created_with_items
from tests.support.concurrency import held as kept_open
from tests.support.factories import CartFactory, ItemFactory, OptionFactory
from tests.support.stored import held, kept, unguarded

pytestmark = pytest.mark.django_db


def options(*prices: str) -> list[dict[str, Any]]:
    return [OptionFactory(price=Decimal(price)) for price in prices]


def test_every_operation_counts(api: Api) -> None:
    cart_id, [first, second] = created_with_items(api, "Calzone", "Pizza")
    assert kept(cart_id) == held(cart_id) == Totals(2, 2, Decimal("45.4"))

    added = api.post(f"/{cart_id}/items", bodies.item(options=3)).json()["data"]["itemId"]
    assert kept(cart_id) == held(cart_id) == Totals(3, 5, Decimal("73.1"))

    api.put(f"/{cart_id}/items/{first}", bodies.bare_item(price=0.0001, quantity=9999))
    assert kept(cart_id) == held(cart_id) == Totals(3, 4, Decimal("51.3999"))

    api.delete(f"/{cart_id}/items/{added}")
    api.delete(f"/{cart_id}/items/{second}")
    assert kept(cart_id) == held(cart_id) == Totals(1, 0, Decimal("0.9999"))

    api.delete(f"/{cart_id}/items/{first}")
    assert kept(cart_id) == held(cart_id) == Totals(0, 0, Decimal(0))


def test_a_refused_change_counts_nothing(api: Api) -> None:
    cart_id, [item_id] = created_with_items(api, "Calzone")
    before = kept(cart_id)

    stranger = "00000000-0000-0000-0000-000000000000"
    assert api.put(f"/{cart_id}/items/{stranger}", bodies.item()).status_code == 404
    assert api.delete(f"/{cart_id}/items/{stranger}").status_code == 404
    item = bodies.item(quantity=7)
    assert api.put(f"/{cart_id}/items/{item_id}", item, If_Match='"9"').status_code == 412

    assert kept(cart_id) == held(cart_id) == before


@pytest.mark.usefixtures("raised_limits")
def test_the_largest_lawful_subtotal_is_exact() -> None:
    """It has 22 digits, more than SQLite's own numbers keep."""
    most = "9999999999.9999"
    item = ItemFactory(price=Decimal(most), quantity=9_999, options=options(*[most] * 10))

    cart = CartFactory(items=[item] * 499)
    cart.add_item(**item)

    largest = Decimal(most) * 9_999 * 5_500
    assert len(largest.as_tuple().digits) == 22
    assert kept(cart.pk) == held(cart.pk) == Totals(500, 5_000, largest)
    listed = exact(Api(cart.profile_key).get())
    [summary] = listed["data"]["carts"]
    assert summary["subtotal"] == largest
    cart.items.first().remove()
    assert kept(cart.pk) == held(cart.pk)


class TestLimits:
    """MAX_CART_OPTIONS limits the options in all items of a cart."""

    def test_of_a_new_cart(self, api: Api, settings: Any, unchanged: Any) -> None:
        settings.MAX_CART_OPTIONS = 5
        unchanged()

        response = api.post(body=bodies.cart(items=3, options=2))

        assert response.status_code == 400
        assert problems(response) == [("too_many", "/items")]

    def test_of_a_changed_cart(self, api: Api, settings: Any, unchanged: Any) -> None:
        settings.MAX_CART_OPTIONS = 3
        cart_id, [first, _] = created_with_items(api, "Calzone", "Pizza")
        unchanged()

        added = api.post(f"/{cart_id}/items", bodies.item(options=2))
        replaced = api.put(f"/{cart_id}/items/{first}", bodies.item(options=3))

        for response in (added, replaced):
            assert response.status_code == 400
            assert problems(response) == [("too_many", "/options")]

    def test_are_reached(self, api: Api, settings: Any) -> None:
        settings.MAX_CART_OPTIONS = 3
        cart_id, [first, _] = created_with_items(api, "Calzone", "Pizza")

        assert api.put(f"/{cart_id}/items/{first}", bodies.item(options=2)).status_code == 200
        assert api.post(f"/{cart_id}/items", bodies.item(options=0)).status_code == 200

        assert kept(cart_id) == held(cart_id)

    def test_let_through_what_leaves_no_more_than_there_was(self, api: Api, settings: Any) -> None:
        cart_id, [first, second] = created_with_items(api, "Calzone", "Pizza")
        api.put(f"/{cart_id}/items/{first}", bodies.item(options=4))
        settings.MAX_CART_OPTIONS = settings.MAX_ITEMS = 1

        assert api.put(f"/{cart_id}/items/{first}", bodies.item(options=4)).status_code == 200
        assert api.put(f"/{cart_id}/items/{second}", bodies.item(options=0)).status_code == 200
        assert api.delete(f"/{cart_id}/items/{second}").status_code == 200

        assert kept(cart_id) == held(cart_id) == Totals(1, 4, Decimal("30.2"))


def recount(*arguments: str) -> str:
    out = StringIO()
    call_command("recount_carts", *arguments, stdout=out)
    return out.getvalue()


def test_right_carts_are_left_as_they_are(unchanged: Any) -> None:
    for number in range(5):
        CartFactory(items=[ItemFactory(with_option=True)] * number)
    unchanged()

    assert recount("--batch=2") == recount("--check") == "0 carts differed.\n"


@pytest.mark.parametrize("batch", ["0", "-5", "x"])
def test_a_batch_that_is_none_is_refused(batch: str) -> None:
    with pytest.raises(CommandError, match="is not a number of carts"):
        recount("--check", f"--batch={batch}")


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has one writer at a time")
@pytest.mark.django_db(transaction=True)
def test_a_cart_that_a_customer_is_changing_is_left_to_the_next_run() -> None:
    busy, idle = CartFactory(), CartFactory()
    unguarded(Cart).update(item_count=7)

    with kept_open(lambda: busy.add_item(**ItemFactory())):
        assert recount().endswith("1 carts differed.\n")

    assert kept(busy.pk) != held(busy.pk)
    assert kept(idle.pk) == held(idle.pk)
    assert recount().endswith("1 carts differed.\n")
    assert kept(busy.pk) == held(busy.pk) == Totals(1, 0, Decimal("20.2"))


def test_a_cart_that_differs_is_named_and_mended() -> None:
    right, wrong = CartFactory(), CartFactory(items=[ItemFactory(), ItemFactory()])
    unguarded(CartItem).filter(cart=wrong, position=0).update(quantity=5)

    line = (
        f"{wrong.pk} keeps 2 items, 0 options, 40.4, holds 2 items, 0 options, 70.7; "
        "1 items had a wrong value"
    )
    with pytest.raises(CommandError, match="Nothing was changed"):
        recount("--check")
    assert kept(wrong.pk).subtotal == Decimal("40.4")
    assert recount() == f"{line}\n1 carts differed.\n"

    assert kept(wrong.pk) == held(wrong.pk)
    assert kept(right.pk) == held(right.pk)


def test_the_count_of_items_is_a_limit_of_its_own(settings: Any) -> None:
    settings.MAX_ITEMS = 2
    cart = CartFactory(items=[ItemFactory()] * 2)

    with pytest.raises(Refusal, match="The cart holds 2 items already"):
        cart.add_item(**ItemFactory())

    assert kept(cart.pk) == held(cart.pk) == Totals(2, 0, Decimal("40.4"))
