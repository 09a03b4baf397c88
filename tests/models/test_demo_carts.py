from collections.abc import Callable

import pytest
from django.core.management import CommandError, call_command

from carts.models import Cart, CartItem
from tests.support.factories import CartFactory


def test_carts_of_all_kinds_are_made(db: None, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("demo_carts", "--carts", "60")
    carts = list(Cart.objects.with_items())
    assert len(carts) == 60
    assert {cart.partner_key for cart in carts} == {"DEMO"}
    assert {cart.currency for cart in carts} == {"EUR", "GBP", "JPY", "AED"}
    assert any(cart.version > 1 for cart in carts)
    states = {cart.state.status: cart.state for cart in carts}
    assert states.keys() >= {"open", "ordered"}
    assert states["ordered"].reference.startswith("ORD-")
    for item in CartItem.objects.all():
        item.clean_fields()
    assert "60 carts were made" in capsys.readouterr().out
    call_command("demo_carts", "--carts", "1")
    assert Cart.objects.count() == 61


@pytest.mark.parametrize("number", ["-1", "0", "many"])
def test_a_number_that_is_none_is_refused(db: None, number: str) -> None:
    with pytest.raises(CommandError, match="is not a number of carts"):
        call_command("demo_carts", "--carts", number)
    assert not Cart.objects.exists()


def test_real_carts_are_left_alone(db: None, unchanged: Callable[[], None]) -> None:
    CartFactory()
    unchanged()
    with pytest.raises(CommandError, match="There are real carts in this database"):
        call_command("demo_carts")
