from django.db.models import Subquery

from carts.models import Cart, contents
from tests.factories import CartFactory, ItemFactory


def test_the_settled_subqueries_belong_to_no_single_query(db: None) -> None:
    carts = [CartFactory(items=[ItemFactory(with_option=True)] * count) for count in (1, 2)]
    for cart in carts:
        found = Cart.objects.with_contents().get(pk=cart.pk)
        assert contents.assemble(found.item_rows, found.option_rows)[-1]["options"] != []
        assert len(found.item_rows) == cart.items.count()
        assert len(Cart.objects.with_amounts().get(pk=cart.pk).item_rows[0]) == 3


def test_a_settled_subquery_follows_its_cart_into_another_query(db: None) -> None:
    """There the cart has another alias, so what was compiled before must not be taken."""
    _, large = [CartFactory(items=[ItemFactory()] * count) for count in (1, 2)]
    Cart.objects.with_contents().first()
    inner = Cart.objects.with_contents().filter(pk=large.pk).values("item_rows")
    outer = Cart.objects.annotate(of_large=Subquery(inner))
    assert [len(cart.of_large) for cart in outer] == [2, 2]
