import pytest
from django.db import connection
from django.db.models import Subquery

from carts.models import Cart, contents
from tests.factories import CartFactory, ItemFactory


def test_the_settled_subqueries_belong_to_no_single_query(db: None) -> None:
    carts = [CartFactory(items=[ItemFactory(with_option=True)] * count) for count in (1, 2)]
    for cart in carts:
        found = Cart.objects.with_contents().get(pk=cart.pk)
        assert contents.assemble(found.item_rows)[-1]["options"] != []
        assert len(found.item_rows) == cart.items.count()
        assert len(Cart.objects.with_amounts().get(pk=cart.pk).item_rows[0]) == 3


def test_a_settled_subquery_follows_its_cart_into_another_query(db: None) -> None:
    """There the cart has another alias, so what was compiled before must not be taken."""
    _, large = [CartFactory(items=[ItemFactory()] * count) for count in (1, 2)]
    Cart.objects.with_contents().first()
    inner = Cart.objects.with_contents().filter(pk=large.pk).values("item_rows")
    outer = Cart.objects.annotate(of_large=Subquery(inner))
    assert [len(cart.of_large) for cart in outer] == [2, 2]


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has no hash joins")
@pytest.mark.parametrize("read", ["with_contents", "with_amounts"])
def test_a_cart_is_read_by_indexes_before_there_are_statistics(db: None, read: str) -> None:
    """So it is from the first carts of a new database on until it is first analysed."""
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
