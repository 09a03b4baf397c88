"""The transaction of a change is Django's own, on both databases."""

import uuid
from collections.abc import Callable
from typing import Any

import pytest
from django.db import IntegrityError, connection, connections, transaction

from carts.models import Cart, CartItemOption
from carts.models.cart_statements import DELETE_ITEMS
from cartsvc.db.transaction import Transaction
from tests.support.factories import CartFactory, ItemFactory, OptionFactory
from tests.support.table_contents import Unchanged, unguarded_rows

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


@pytest.mark.skipif(connection.vendor == "sqlite", reason="the framework cannot do it on SQLite")
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_change_waits_for_the_commit_of_who_commits_himself(
    cart: Any, unchanged: Unchanged, change: Callable[[Any], Any]
) -> None:
    transaction.set_autocommit(False)
    try:
        change(cart)
        transaction.rollback()
    finally:
        transaction.set_autocommit(True)


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_commit_that_fails_undoes_the_change(
    cart: Any, unchanged: Unchanged, change: Callable[[Any], Any]
) -> None:
    """An option without its item is refused at COMMIT."""
    seen: list[str] = []

    def listen(execute: Any, sql: str, *arguments: Any) -> Any:
        if not seen and connection.in_atomic_block and "SELECT" not in sql:
            seen.append(sql)
            transaction.on_commit(lambda: seen.append("committed"))
            lost = CartItemOption(
                item_id=uuid.uuid4(), profile_key=uuid.uuid4(), position=0, **OptionFactory()
            )
            unguarded_rows(CartItemOption).bulk_create([lost])
        return execute(sql, *arguments)

    with connection.execute_wrapper(listen), pytest.raises(IntegrityError):
        change(cart)

    assert len(seen) == 1


def test_nothing_follows_the_last_round_trip_of_a_transaction(
    cart: Any, unchanged: Unchanged
) -> None:
    deletion = DELETE_ITEMS, {"cart_id": cart.pk, "profile_key": cart.profile_key}
    with Transaction.begin() as last:
        last.round_trip([], commit=True)
        with pytest.raises(RuntimeError, match="follows COMMIT"):
            last.round_trip([deletion])
