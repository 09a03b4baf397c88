"""The transaction of a change is Django's own, on both databases."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection, connections, transaction

from carts.models import Cart
from tests.support.factories import CartFactory, ItemFactory
from tests.support.table_contents import Unchanged

pytestmark = pytest.mark.django_db(transaction=True)

CHANGES = {
    "create": lambda _: CartFactory(items=[ItemFactory()]),
    "add": lambda cart: cart.add_item(**ItemFactory()),
    "replace": lambda cart: cart.items.get().replace(**ItemFactory()),
    "change": lambda cart: cart.change(note="x"),
    "add several": lambda cart: cart.add_items([ItemFactory(), ItemFactory()]),
    "replace all": lambda cart: cart.replace_items([ItemFactory()]),
    "close": lambda cart: cart.close(outcome="ordered", reference="order-1"),
    "remove": lambda cart: cart.items.get().remove(),
    "delete": lambda cart: Cart.objects.delete_cart(cart.pk),
}


@pytest.fixture
def cart() -> Any:
    return CartFactory(items=[ItemFactory()])


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_on_commit_and_savepoints_work_within_a_change(
    cart: Any, change: Callable[[Any], Any]
) -> None:
    """`on_commit` runs when others see the change, a savepoint within it is one."""
    seen: list[Any] = []

    def rows() -> Any:
        other = connections.create_connection("default")
        try:
            with other.cursor() as cursor:
                cursor.execute("SELECT id, version, note FROM carts_cart ORDER BY id")
                return cursor.fetchall()
        finally:
            other.close()

    def listen(execute: Any, sql: str, *arguments: Any) -> Any:
        if not seen and connection.in_atomic_block and "carts_cart" in sql:
            seen.append(None)
            with transaction.atomic():
                transaction.on_commit(lambda: seen.append(rows()))
        return execute(sql, *arguments)

    with connection.execute_wrapper(listen):
        change(cart)

    assert seen[1:] == [rows()]


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_change_within_a_transaction_is_undone_with_it(
    cart: Any, unchanged: Unchanged, change: Callable[[Any], Any]
) -> None:
    with transaction.atomic():
        change(cart)
        transaction.set_rollback(True)
