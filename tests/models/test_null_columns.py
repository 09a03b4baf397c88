"""An optional member may be of any type: what is null is written, and read as JSON's null."""

import json
import uuid
from collections.abc import Iterator
from decimal import Decimal
from typing import Annotated, Any, NamedTuple

import pytest
from django.db import connection, models
from django.db.models import F

from carts.models.cart_json import JsonObject, JsonRows
from carts.models.columns import column
from carts.value_types import (
    INT32,
    INT64,
    PRICE,
    Choice,
    Currency,
    Guid,
    Line,
    Paragraph,
    ValueType,
)
from cartsvc.db.compiled_statements import MAX_SINGLE_VALUES, Insert
from cartsvc.db.exact_field import ExactField
from tests.support.callers import PROFILE

pytestmark = pytest.mark.django_db(transaction=True)


class Optional(NamedTuple):
    line: Annotated[str | None, Line(50)] = None
    paragraph: Annotated[str | None, Paragraph(50)] = None
    currency: Annotated[str | None, Currency()] = None
    int32: Annotated[int | None, INT32] = None
    int64: Annotated[int | None, INT64] = None
    price: Annotated[Decimal | None, PRICE] = None
    guid: Annotated[uuid.UUID | None, Guid()] = None
    choice: Annotated[str | None, Choice(("open", "closed"))] = None


FULL = Optional(
    'a "quoted", {text}', "", "EUR", -(2**31), 2**63 - 1, Decimal("10.5"), PROFILE, "closed"
)
JSON = FULL._asdict() | {"price": 10.5, "guid": str(PROFILE)}


@pytest.fixture(scope="module")
def tables(django_db_setup: None, django_db_blocker: Any) -> Iterator[tuple[Any, Any]]:
    class Owner(models.Model):  # noqa: DJ008
        profile_key = models.UUIDField()
        total = ExactField(null=True)
        at = models.DateTimeField(null=True)
        for name in Optional._fields:
            locals()[name] = column(Optional, name)

        class Meta:
            app_label = "tests"

    class Row(models.Model):  # noqa: DJ008
        owner = models.ForeignKey(Owner, models.CASCADE)
        profile_key = models.UUIDField()
        position = models.IntegerField()
        for name in Optional._fields:
            locals()[name] = column(Optional, name)

        class Meta:
            app_label = "tests"

    with django_db_blocker.unblock():
        with connection.schema_editor() as editor:
            editor.create_model(Owner)
            editor.create_model(Row)
        yield Owner, Row
        with connection.schema_editor() as editor:
            editor.delete_model(Row)
            editor.delete_model(Owner)


def test_a_type_without_a_column_is_an_error() -> None:
    class Unknown(NamedTuple):
        member: Annotated[Any, ValueType()] = None

    with pytest.raises(TypeError, match="There is no column for"):
        column(Unknown, "member")


@pytest.mark.parametrize("count", [1, 2 * MAX_SINGLE_VALUES])
@pytest.mark.parametrize("name", [*Optional._fields, None])
def test_null_is_written_and_read(tables: tuple[Any, Any], name: str | None, count: int) -> None:
    """Each member alone is null, or all of them; in one row, and in rows that go as arrays."""
    owner_model, row_model = tables
    nulls = dict.fromkeys([name] if name else Optional._fields)
    values, shown = FULL._replace(**nulls), JSON | nulls
    owner = owner_model.objects.create(profile_key=PROFILE, **values._asdict())
    insert = Insert(row_model, ["position", *Optional._fields], ["owner_id", "profile_key"])
    rows = [(position, *values) for position in range(count)]

    with connection.cursor() as cursor:
        insert.send(cursor, {"rows": rows, "owner_id": owner.pk, "profile_key": PROFILE})

    found = row_model.objects.filter(owner=owner).order_by("position")
    assert list(found.values_list("position", *Optional._fields)) == rows
    members: dict[str, Any] = {field: field for field in Optional._fields}
    below = JsonRows(F("profile_key"), row_model, members)
    document = JsonObject({**members, "total": "total", "at": "at", "rows": below})
    [text] = owner_model.objects.filter(pk=owner.pk).values_list(document)[0]
    assert json.loads(text) == {**shown, "total": None, "at": None, "rows": [shown] * count}
