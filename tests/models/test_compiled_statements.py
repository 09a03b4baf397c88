"""A compiled statement must not depend on the values or the caller of an earlier run."""

import itertools
import uuid
from operator import itemgetter

import pytest
from django.db import connection
from django.db.models.sql.compiler import SQLCompiler
from django.utils import timezone

from carts.cart_errors import CartNotFound
from carts.models import Cart, DeletedCart
from carts.models.cart_change import Author
from cartsvc.db.compiled_statements import (
    MAX_SINGLE_VALUES,
    Insert,
    Select,
    parameters,
)
from tests.support.callers import PROFILE
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

    assert str(web.pk) in own.find(web.pk)[1]
    assert [cart_id for cart_id, _ in own.page(10)] == [web.pk]
    for carts in own, own.by(ANNA), own.by(ANNA, profile_key=app.profile_key):
        with pytest.raises(CartNotFound):
            carts.find(app.pk)
        assert list(carts.filter(pk=app.pk)) == []
        assert app.pk not in {cart_id for cart_id, _ in carts.page(10)}


def test_rows_in_arrays_keep_every_value() -> None:
    texts = ["", "NULL", "{a,b}", 'say "hi"', "back\\slash", "it's", " é\n😀 ", "1"]
    records = [
        (uuid.uuid4(), "shell", name, request_id)
        for name, request_id in itertools.product(texts, [*texts, None])
    ]
    names, now = ["id", "author_kind", "author_name", "request_id"], timezone.now()

    with connection.cursor() as cursor:
        Insert(DeletedCart, names, ["profile_key", "deleted_on"]).run(cursor, records, PROFILE, now)

    found = DeletedCart.objects.filter(profile_key=PROFILE, deleted_on=now).values_list(*names)
    assert len(records) * len(names) > MAX_SINGLE_VALUES
    assert sorted(found, key=itemgetter(0)) == sorted(records, key=itemgetter(0))
