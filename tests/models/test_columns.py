from collections.abc import Callable
from decimal import Decimal

import pytest
from django.db import transaction

from carts.models import Cart, CartItem
from tests.support.factories import CartFactory, ItemFactory
from tests.support.stored import unguarded


@pytest.mark.parametrize(
    ("column", "given", "saved"),
    [
        ("quantity", "5", 5),
        ("menu_item_key", "-9223372036854775808", -(2**63)),
        ("position", "3", 3),
        ("display_name", 12, "12"),
        ("price", "1.5", Decimal("1.5")),
        ("price", 1.1, Decimal("1.1")),
    ],
)
def test_a_value_of_another_type_is_converted_on_its_way_in(
    db: None, column: str, given: object, saved: object
) -> None:
    cart: Cart = CartFactory(items=[ItemFactory()])
    unguarded(CartItem).update(**{column: given})
    found = cart.items.values_list(column, flat=True).get()
    assert found == saved
    assert type(found) is type(saved)


@pytest.mark.parametrize("column", ["quantity", "menu_item_key", "position"])
def test_what_is_no_number_is_refused_before_the_database_sees_it(
    unchanged: Callable[[], None], column: str
) -> None:
    CartFactory(items=[ItemFactory()])
    unchanged()
    expected = f"Field '{column}' expected a number"
    with pytest.raises(ValueError, match=expected), transaction.atomic():
        unguarded(CartItem).update(**{column: "many"})
