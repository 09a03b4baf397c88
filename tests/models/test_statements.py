"""A compiled statement must not depend on the values or the caller of an earlier run."""

import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from django.db import IntegrityError, connection
from django.db.models.sql.compiler import SQLCompiler
from django.utils import timezone
from psycopg.pq import PipelineStatus

from carts.models import Cart, CartItem, CartItemOption
from carts.models.change import Author
from cartsvc.db.statements import (
    Insert,
    Select,
    atomic,
    delete,
    one_round_trip,
    parameters,
    update,
)
from tests.support.factories import CartFactory, ItemFactory, OptionFactory

pytestmark = pytest.mark.django_db

ANNA = Author("shell", "anna")


def named(*names: str) -> list[Cart]:
    return [CartFactory(platform=name, items=[ItemFactory(with_option=True)]) for name in names]


def by_id() -> Select:
    return Select(
        lambda: Cart.objects.filter(**parameters(Cart, ["id"])).values_list("id", "platform")
    )


def test_a_statement_is_compiled_once_and_runs_with_any_values(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    carts, select = named("web", "app"), by_id()
    compiled = []
    original = SQLCompiler.as_sql

    def as_sql(self: SQLCompiler, *args: Any, **kwargs: Any) -> Any:
        compiled.append(self)
        return original(self, *args, **kwargs)

    monkeypatch.setattr(SQLCompiler, "as_sql", as_sql)
    first = [select.rows(id=cart.pk)[0] for cart in carts]
    once = len(compiled)
    again = [select.rows(id=cart.pk)[0] for cart in carts]

    assert [platform for _, platform in first] == ["web", "app"]
    assert [platform for _, platform in again] == ["web", "app"]
    assert select.rows(id=uuid.uuid4()) == []
    assert once > 0
    assert len(compiled) == once


def keys_of(cart: Cart) -> dict[str, Any]:
    return {"id": cart.pk, "profile_key": cart.profile_key}


def test_an_update_changes_the_row_of_its_keys_and_nothing_else() -> None:
    web, app = named("web", "app")
    now = timezone.now() + timedelta(hours=1)

    with connection.cursor() as cursor:
        change = update(Cart, ["modified_on", "note"], "id", "profile_key")
        change.run(cursor, **keys_of(web), modified_on=now, note="new")
        change.run(cursor, id=app.pk, profile_key=web.profile_key, modified_on=now, note="new")

    for cart in web, app:
        cart.refresh_from_db()
    assert (web.modified_on, app.modified_on) == (now, app.created_on)
    assert (web.note, app.note, web.platform) == ("new", None, "web")


def test_a_delete_removes_what_matches_and_nothing_else() -> None:
    web, app = named("web", "app")

    with connection.cursor() as cursor:
        delete(CartItemOption, "item_id").run(cursor, item_id=web.items.get().pk)

    assert (web.items.get().options.count(), app.items.get().options.count()) == (0, 1)


@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 300])
def test_an_insert_takes_any_number_of_rows(count: int) -> None:
    """Up to three items are sent as values, more as arrays or, on SQLite, one by one."""
    cart = CartFactory()
    items = [
        CartItem(
            cart_id=cart.pk,
            profile_key=cart.profile_key,
            position=position,
            value=0,
            **ItemFactory(quantity=position + 1),
        )
        for position in range(count)
    ]
    names = [field.attname for field in CartItem._meta.concrete_fields]
    with connection.cursor() as cursor:
        Insert(CartItem, names).run(cursor, items)

    assert list(cart.items.values_list("id", "quantity", "price")) == [
        (item.id, item.quantity, item.price) for item in items
    ]


def test_an_insert_takes_values_in_the_order_of_its_names() -> None:
    [cart] = named("web")
    customer = cart.profile_key
    item, sent = cart.items.get(), OptionFactory()
    with connection.cursor() as cursor:
        Insert(CartItemOption, ["position", "item_id", "profile_key", *sent]).run(
            cursor,
            [(1, item.pk, customer, *sent.values()), (2, item.pk, customer, *sent.values())],
        )

    assert item.options.filter(position__gt=0).values_list("position", *sent).count() == 2
    assert list(item.options.values_list("position", "display_name")) == [
        (0, OptionFactory()["display_name"]),
        (1, sent["display_name"]),
        (2, sent["display_name"]),
    ]


def test_narrowed_carts_are_never_widened_again() -> None:
    web, app = named("web", "app")
    own = Cart.objects.by(ANNA, profile_key=web.profile_key)

    assert str(web.pk) in own.find(web.pk)[1]
    assert [cart_id for cart_id, _ in own.page(10)] == [web.pk]
    for carts in own, own.by(ANNA), own.by(ANNA, profile_key=app.profile_key):
        assert carts.find(app.pk) is None
        assert list(carts.filter(pk=app.pk)) == []
        assert app.pk not in {cart_id for cart_id, _ in carts.page(10)}


@pytest.mark.django_db(transaction=True)
def test_threads_share_what_is_compiled() -> None:
    carts, select = named(*(f"app {number}" for number in range(8))), by_id()

    def read(cart: Cart) -> list[str]:
        try:
            return [select.rows(id=cart.pk)[0][1] for _ in range(20)]
        finally:
            connection.close()

    with ThreadPoolExecutor(len(carts)) as pool:
        assert list(pool.map(read, carts)) == [[cart.platform] * 20 for cart in carts]


def test_a_queryset_has_no_way_around_the_claim(unchanged: Callable[[], None]) -> None:
    [cart] = named("web")
    unchanged()

    for write in "add_item", "replace_item", "remove_item", "create_with_items":
        assert not hasattr(Cart.objects.filter(pk=cart.pk), write)


def test_what_is_sent_at_once_fails_at_the_end_with_the_framework_error() -> None:
    carts, pipelines = named("web", "app"), []
    change_version = update(Cart, ["version"], "id", "profile_key")

    def change() -> None:
        with atomic() as cursor, one_round_trip():
            if connection.vendor == "postgresql":
                pipelines.append(connection.connection.info.pipeline_status)
            for cart, version in zip(carts, (2, -1), strict=True):
                change_version.run(cursor, **keys_of(cart), version=version)

    with pytest.raises(IntegrityError):
        change()

    assert pipelines == [PipelineStatus.ON] * (connection.vendor == "postgresql")
    assert [cart.version for cart in Cart.objects.all()] == [1, 1]
