from collections.abc import Callable
from datetime import timedelta

import pytest
from django.core.management import call_command
from django.utils import timezone

from carts.management.commands.demo_carts import DEMO_CARTS
from carts.models import Cart, CartItem
from tests.support.factories import CartFactory


def test_carts_of_all_kinds_are_made(db: None, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("demo_carts")
    carts = list(Cart.objects.all())
    assert f"{DEMO_CARTS} carts were made" in capsys.readouterr().out
    assert len(carts) == DEMO_CARTS
    assert {cart.partner_key for cart in carts} == {"DEMO"}
    assert {(cart.restaurant_key, cart.currency) for cart in carts} == {
        (1001, "EUR"),
        (1002, "GBP"),
        (1003, "JPY"),
        (1004, "AED"),
    }
    counts = {cart.item_count for cart in carts}
    assert min(counts) == 0
    assert max(counts) > 5
    assert {cart.version for cart in carts} == {1, 2, 3, 4}
    states = {cart.state.status: cart.state for cart in carts}
    assert states.keys() == {"open", "checkout", "ordered", "abandoned"}
    assert states["ordered"].reference.startswith("ORD-")
    assert all(cart.item_count for cart in carts if cart.status == "ordered")
    ages = [timezone.now() - cart.created_on for cart in carts]
    assert min(ages) < timedelta(hours=1)
    assert max(ages) > timedelta(weeks=3)
    for item in CartItem.objects.all():
        item.clean_fields()


def test_carts_that_are_there_are_left_alone(
    db: None, unchanged: Callable[[], None], capsys: pytest.CaptureFixture[str]
) -> None:
    CartFactory()
    unchanged()
    call_command("demo_carts")
    assert capsys.readouterr().out == "There are carts already, so no others were made.\n"
