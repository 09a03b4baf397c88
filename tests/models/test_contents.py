import pytest
from django.db import connection

from carts.models import Cart
from tests.support.factories import CartFactory, ItemFactory


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has no hash joins")
@pytest.mark.parametrize("read", ["with_contents", "with_amounts"])
def test_a_cart_is_read_by_indexes_before_there_are_statistics(db: None, read: str) -> None:
    """A new database has no statistics until it is first analysed."""
    cart = CartFactory(items=[ItemFactory(with_option=True)])
    other = CartFactory(items=[ItemFactory(with_option=True)])
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO carts_cartitem SELECT gen_random_uuid(), number, menu_key, menu_version,"
            " menu_item_key, display_name, currency, price, quantity, special_instructions, cart_id"
            " FROM carts_cartitem, generate_series(1, 25000) AS number WHERE cart_id = %s",
            [other.pk],
        )
        cursor.execute(
            "INSERT INTO carts_cartitemoption (item_id, position, option_set_key,"
            " option_set_item_key, display_name, currency, price)"
            " SELECT id, number, 1, 1, 'Olives', 'EUR', 1"
            " FROM carts_cartitem, generate_series(1, 8) AS number WHERE position > 0",
        )

    plan = getattr(Cart.objects.filter(pk=cart.pk), read)().explain()

    assert "Seq Scan" not in plan
    assert "JIT" not in plan
