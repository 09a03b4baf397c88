from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from carts.models import Cart, CartItem
from tests.support.factories import CartFactory


def test_carts_of_all_kinds_are_made(db: None, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("demo_carts", "--carts", "60")
    carts = list(Cart.objects.with_items())
    assert len(carts) == 60
    assert {cart.partner_key for cart in carts} == {"DEMO"}
    assert {cart.currency for cart in carts} == {"EUR", "GBP", "JPY", "AED"}
    assert any(cart.version > 1 for cart in carts)
    for item in CartItem.objects.all():
        item.clean_fields()
    assert "60 carts were made" in capsys.readouterr().out
    call_command("demo_carts", "--carts", "1")
    assert Cart.objects.count() == 61


def test_the_carts_are_of_the_last_weeks(db: None) -> None:
    before = timezone.now()
    call_command("demo_carts", "--carts", "60")
    carts = list(Cart.objects.all())
    created = [cart.created_on for cart in carts]
    assert max(created) - min(created) > timedelta(weeks=2)
    assert min(created) > before - timedelta(weeks=4)
    for cart in carts:
        # The key is made from the time of creation, because the desk sorts by it.
        made = datetime.fromtimestamp((cart.id.int >> 80) / 1000, UTC)
        assert timedelta() <= cart.created_on - made < timedelta(milliseconds=2)
        assert cart.id.version == 7
        moments = [cart.created_on, *(change.at for change in cart.changes.all())]
        assert moments == sorted(moments)
        assert (moments[0], moments[-1]) == (cart.created_on, cart.modified_on)
        assert cart.modified_on <= timezone.now()
        assert len(moments) == cart.version


def test_real_carts_are_left_alone(db: None, unchanged: Callable[[], None]) -> None:
    CartFactory()
    unchanged()
    with pytest.raises(CommandError, match="There are real carts in this database"):
        call_command("demo_carts")


def test_unless_told(db: None) -> None:
    CartFactory()
    call_command("demo_carts", "--carts", "2", "--beside-real-carts")
    assert Cart.objects.count() == 3
