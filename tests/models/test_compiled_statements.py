"""A compiled statement must not depend on the values or the caller of an earlier run."""

import uuid
from collections.abc import Iterator
from functools import partial

import pytest
from django.db import IntegrityError, connection
from django.db.models.sql.compiler import SQLCompiler
from psycopg.pq import PipelineStatus

from carts.cart_errors import CartNotFound
from carts.models import Cart
from carts.models.cart_change import Author
from cartsvc.db.compiled_statements import Select, parameters, update_rows
from cartsvc.db.transaction import Sent, Transaction
from tests.support.callers import PROFILE
from tests.support.concurrency import together
from tests.support.factories import CartFactory, ItemFactory

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
    web, app = named("web", "app")
    select = by_id()
    assert [platform for _, platform in select.rows(id=web.pk)] == ["web"]

    monkeypatch.setattr(SQLCompiler, "as_sql", None)

    assert [platform for _, platform in select.rows(id=app.pk)] == ["app"]
    assert select.rows(id=uuid.uuid4()) == []
    with pytest.raises(TypeError):
        by_id().rows(id=app.pk)


def test_narrowed_carts_are_never_widened_again() -> None:
    web, app = named("web", "app")
    own = Cart.objects.by(ANNA, profile_key=web.profile_key)

    assert str(web.pk) in own.version_and_json(web.pk)[1]
    assert [cart_id for cart_id, _ in own.summaries(10)] == [web.pk]
    for carts in own, own.by(ANNA), own.by(ANNA, profile_key=app.profile_key):
        with pytest.raises(CartNotFound):
            carts.version_and_json(app.pk)
        assert list(carts.filter(pk=app.pk)) == []
        assert app.pk not in {cart_id for cart_id, _ in carts.summaries(10)}


def test_a_queryset_of_narrowed_carts_has_no_way_around_the_claim() -> None:
    carts = Cart.objects.by(ANNA, profile_key=PROFILE).all()
    for write in "add_item", "replace_item", "remove_item", "create_with_items":
        assert not hasattr(carts, write)


@pytest.mark.django_db(transaction=True)
def test_threads_share_what_is_compiled() -> None:
    carts, select = named(*(f"app {number}" for number in range(8))), by_id()

    def read(cart: Cart) -> list[str]:
        return [select.rows(id=cart.pk)[0][1] for _ in range(20)]

    assert together([partial(read, cart) for cart in carts]) == [
        [cart.platform] * 20 for cart in carts
    ]


def test_what_is_sent_at_once_fails_at_the_end_with_the_framework_error() -> None:
    carts, pipelines = named("web", "app"), []
    change_version = update_rows(Cart, ["version"], "id", "profile_key")

    def changes() -> Iterator[Sent]:
        if connection.vendor == "postgresql":
            pipelines.append(connection.connection.info.pipeline_status)
        for cart, version in zip(carts, (2, -1), strict=True):
            keys = {"id": cart.pk, "profile_key": cart.profile_key}
            yield change_version, {**keys, "version": version}

    with pytest.raises(IntegrityError), Transaction.begin() as transaction:
        transaction.round_trip(changes())

    assert pipelines == [PipelineStatus.ON] * (connection.vendor == "postgresql")
    assert [cart.version for cart in Cart.objects.all()] == [1, 1]
