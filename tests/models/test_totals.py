"""The totals stored with a cart match its items exactly."""

from decimal import Decimal
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection

from carts.models import Cart, CartItem
from carts.models.writes import Totals
from tests.support.answers import exact
from tests.support.callers import Api
from tests.support.concurrency import open_transaction
from tests.support.factories import CartFactory, ItemFactory, OptionFactory
from tests.support.table_contents import Unchanged, computed_totals, stored_totals, unguarded_rows

pytestmark = pytest.mark.django_db


def options(*prices: str) -> list[dict[str, Any]]:
    return [OptionFactory(price=Decimal(price)) for price in prices]


@pytest.mark.usefixtures("raised_limits")
def test_the_largest_lawful_subtotal_is_exact() -> None:
    """It has 22 digits, more than SQLite's own numbers keep."""
    most = "9999999999.9999"
    item = ItemFactory(price=Decimal(most), quantity=9_999, options=options(*[most] * 10))

    cart = CartFactory(items=[item] * 499)
    cart.add_item(**item)

    largest = Decimal(most) * 9_999 * 5_500
    assert len(largest.as_tuple().digits) == 22
    assert stored_totals(cart.pk) == computed_totals(cart.pk) == Totals(500, 5_000, largest)
    listed = exact(Api(cart.profile_key).get())
    [summary] = listed["data"]["carts"]
    assert summary["subtotal"] == largest
    cart.items.first().remove()
    assert stored_totals(cart.pk) == computed_totals(cart.pk)


def recount() -> str:
    out = StringIO()
    call_command("recount_carts", stdout=out)
    return out.getvalue()


def test_right_carts_are_left_as_they_are(unchanged: Unchanged) -> None:
    for number in range(5):
        CartFactory(items=[ItemFactory(with_option=True)] * number)
    unchanged()

    assert recount() == "0 carts differed.\n"


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has one writer at a time")
@pytest.mark.django_db(transaction=True)
def test_a_cart_that_a_customer_is_changing_is_left_to_the_next_run() -> None:
    busy, idle = CartFactory(), CartFactory()
    unguarded_rows(Cart).update(item_count=7)

    with open_transaction(lambda: busy.add_item(**ItemFactory())):
        assert recount().endswith("1 carts differed.\n")

    assert stored_totals(busy.pk) != computed_totals(busy.pk)
    assert stored_totals(idle.pk) == computed_totals(idle.pk)
    assert recount().endswith("1 carts differed.\n")
    assert stored_totals(busy.pk) == computed_totals(busy.pk) == Totals(1, 0, Decimal("20.2"))


def test_a_cart_that_differs_is_named_and_corrected() -> None:
    right, wrong = CartFactory(), CartFactory(items=[ItemFactory(), ItemFactory()])
    unguarded_rows(CartItem).filter(cart=wrong, position=0).update(quantity=5)

    line = f"{wrong!r} holds {Totals(2, 0, Decimal('70.7'))}"
    assert recount() == f"{line}\n1 carts differed.\n"

    assert stored_totals(wrong.pk) == computed_totals(wrong.pk)
    assert stored_totals(right.pk) == computed_totals(right.pk)
