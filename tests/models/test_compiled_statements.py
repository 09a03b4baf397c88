"""A compiled statement must not depend on the values of an earlier run."""

import uuid

import pytest
from django.db.models.sql.compiler import SQLCompiler

from carts.models import Cart
from cartsvc.db.compiled_statements import Select, parameters
from tests.support.factories import CartFactory


def by_id() -> Select:
    return Select(
        lambda: Cart.objects.filter(**parameters(Cart, ["id"])).values_list("id", "platform")
    )


def test_a_statement_is_compiled_once_and_runs_with_any_values(
    db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    web, app = (CartFactory(platform=name) for name in ("web", "app"))
    select = by_id()
    assert [platform for _, platform in select.rows(id=web.pk)] == ["web"]

    monkeypatch.setattr(SQLCompiler, "as_sql", None)

    assert [platform for _, platform in select.rows(id=app.pk)] == ["app"]
    assert select.rows(id=uuid.uuid4()) == []
    with pytest.raises(TypeError):
        by_id().rows(id=app.pk)
