"""All that is held of a customer: it is erased, and nobody else's."""

import base64
import uuid
from collections.abc import Callable
from io import StringIO
from typing import Any

import pytest
from django.apps import apps
from django.contrib.admin.models import LogEntry
from django.contrib.sessions.backends.db import SessionStore
from django.core.management import CommandError, call_command
from django.db import connection

from carts.models import Cart, CartItem, FirstPassword
from tests.desk.conftest import staff
from tests.models.customers import OTHER, OWN, fill
from tests.support.callers import PROFILE, STRANGER, Api
from tests.support.carts import created
from tests.support.concurrency import open_transaction
from tests.support.factories import CartFactory, ItemFactory


def erase(*arguments: str, profile: uuid.UUID = PROFILE) -> list[str]:
    out = StringIO()
    call_command("erase_customer", str(profile), *arguments, stdout=out)
    return out.getvalue().splitlines()


def everywhere() -> str:
    """Return all that is in any table of the database, as one text without dashes."""
    with connection.cursor() as cursor:
        values = []
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f"SELECT * FROM {connection.ops.quote_name(table)}")
            names = [column[0] for column in cursor.description]
            for row in cursor.fetchall():
                values += [text_of(name, value) for name, value in zip(names, row, strict=True)]
    return "\n".join(values)


def text_of(name: str, value: Any) -> str:
    if name == "session_data":
        value = SessionStore().decode(value)
    if isinstance(value, bytes | memoryview):
        value = base64.b16encode(value)
    return str(value).replace("-", "").lower()


def found(words: list[str]) -> set[str]:
    held = everywhere()
    return {word for word in words if word.replace("-", "").lower() in held}


def test_nothing_of_a_customer_is_left_anywhere_and_a_dry_run_only_counts(db: None) -> None:
    lead = staff("Cart support lead")
    own, others = fill(PROFILE, OWN, lead), fill(STRANGER, OTHER, lead)
    assert {OWN, str(PROFILE)} <= found(own)
    others_found = found(others)
    assert {OTHER, str(STRANGER)} <= others_found

    def of_others() -> list[Any]:
        models: Any = set(apps.get_app_config("carts").get_models()) - {FirstPassword}
        return [
            list(rows.order_by("pk").values())
            for rows in (
                *(model.objects.filter(profile_key=STRANGER) for model in models),
                LogEntry.objects.filter(staff_entry__profile_key=STRANGER),
            )
        ]

    def all_values() -> list[str]:  # in no order: several servers answer in any
        return sorted(everywhere().splitlines())

    before, whole = of_others(), all_values()
    assert all(before)
    gone = [
        *("5 log entries", "8 idempotency records", "2 deleted carts", "1 carts"),
        "1 moved carts",
    ]
    assert erase("--dry-run") == [f"{', '.join(gone)} would be deleted."]
    assert all_values() == whole
    assert erase() == [f"{rows} deleted." for rows in gone]
    assert found(own) == set()
    assert of_others() == before
    assert found(others) == others_found
    assert erase()[-1] == "0 moved carts deleted."


@pytest.mark.parametrize("command", ["erase_customer", "export_customer"])
@pytest.mark.parametrize("key", ["", "x", "4711", f"{PROFILE} "])
def test_a_key_that_is_none_is_refused(
    api: Api, unchanged: Callable[[], None], command: str, key: str
) -> None:
    created(api)
    unchanged()
    with pytest.raises(CommandError, match="invalid UUID value"):
        call_command(command, key)


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has no locks of rows")
def test_a_cart_that_is_being_changed_is_reported_and_goes_in_another_run() -> None:
    busy, _ = CartFactory(profile_key=PROFILE), CartFactory(profile_key=PROFILE)
    with (
        open_transaction(lambda: busy.add_item(**ItemFactory())),
        pytest.raises(CommandError, match="Some of it is being changed"),
    ):
        erase()
    assert list(Cart.objects.all()) == [busy]
    assert erase()[-2] == "1 carts deleted."
    assert not CartItem.objects.exists()
