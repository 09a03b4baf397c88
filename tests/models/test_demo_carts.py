from collections.abc import Callable
from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
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
    ages = [timezone.now() - cart.created_on for cart in carts]
    assert min(ages) < timedelta(hours=1)
    assert max(ages) > timedelta(weeks=3)
    for item in CartItem.objects.all():
        item.clean_fields()


def test_the_carts_are_the_same_each_time(db: None) -> None:
    shown = Cart.objects.order_by("pk").values_list(
        "restaurant_key", "platform", "note", "subtotal", "version", "status", "reference"
    )
    call_command("demo_carts")
    first = list(shown.all())
    call_command("demo_carts")
    both = list(shown.all())  # one of each run in turn
    assert both[::2] == both[1::2] == first


def test_real_carts_are_left_alone(db: None, unchanged: Callable[[], None]) -> None:
    CartFactory()
    unchanged()
    with pytest.raises(CommandError, match="There are real carts in this database"):
        call_command("demo_carts")
