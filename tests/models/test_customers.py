"""All that is held of a customer: it is erased, and nobody else's."""

import base64
import json
import re
import uuid
from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from io import StringIO
from typing import Any

import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.contrib.sessions.backends.db import SessionStore
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client, RequestFactory

from carts.management.commands.export_customer import CHANGE_FIELDS, document
from carts.management.customers import held_of
from carts.models import (
    Cart,
    CartChange,
    CartItem,
    DeletedCart,
    IdempotencyRecord,
)
from cartsvc.text import camel_case
from tests.desk.conftest import form_of, item_page, staff
from tests.support import bodies
from tests.support.callers import PROFILE, STRANGER, Api
from tests.support.carts import created, shown
from tests.support.concurrency import held
from tests.support.factories import CartFactory, ItemFactory
from tests.support.stored import unguarded

# Telephone numbers: what two customers write everywhere.
OWN, OTHER = "491715550123", "4915125550178"


@pytest.fixture
def lead(db: None) -> Client:
    return staff("Cart support lead")


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


def fill(profile: uuid.UUID, words: str, desk: Client) -> list[str]:
    """Fill every table with what a customer orders. Return the words and keys that tell of it."""
    api = Api(profile)

    def name(what: str) -> str:
        return f"{what}, {words}"

    item = bodies.item(
        displayName=name("Pizza"),
        specialInstructions=name("for Mia"),
        options=[bodies.option(displayName=name("Olives"))],
    )
    body = bodies.cart(items=[item, item], note=name("Call before you come"))
    carts, items = [], []
    for number in range(4):
        answer = api.post(body=body, Idempotency_Key=f"{words}-{number}")
        cart_id = answer.json()["data"]["cartId"]
        carts.append(cart_id)
        answer = api.post(f"/{cart_id}/items", item, Idempotency_Key=f"{words}-{number}-item")
        items += [answer.json()["data"]["itemId"]]
        items += [str(each.pk) for each in CartItem.objects.filter(cart_id=cart_id)]
        api.put(f"/{cart_id}/items/{items[-1]}", {**item, "displayName": name("Calzone")})
        api.patch(f"/{cart_id}", {"note": name("Ring twice")})
        cart = Cart.objects.get(pk=cart_id)
        cart.items.last().change(special_instructions=name("by the shell"))
        url = item_page(cart)
        sent = form_of(desk, url) | {"display_name": name("at the desk")}
        assert desk.post(url, sent).status_code == 302
        desk.get(f"/admin/carts/cart/?q={profile}")
    api.delete(f"/{carts[1]}")
    unguarded(Cart).filter(pk=carts[2]).delete()
    request = RequestFactory().get("/")
    request.user = User.objects.get(username="anna")
    cart = Cart.objects.get(pk=carts[3])
    admin.site.get_model_admin(Cart).log_deletions(request, [cart])
    Cart.objects.delete_cart(cart.pk)
    # Somebody's session has ended, and so has the patience of who types the password.
    for page in (f"{carts[0]}/change/", f"?q={profile}"):
        address = f"/admin/login/?next=/admin/carts/cart/{page}"
        typed = {"username": "anna", "password": "wrong", "next": f"/admin/carts/cart/{page}"}
        assert Client().post(address, typed).status_code == 200
    return [words, str(profile), *carts, *items]


def found(words: list[str]) -> set[str]:
    held = everywhere()
    return {word for word in words if word.replace("-", "").lower() in held}


def test_nothing_of_a_customer_is_left_anywhere_and_a_dry_run_only_counts(lead: Client) -> None:
    own, others = fill(PROFILE, OWN, lead), fill(STRANGER, OTHER, lead)
    assert {OWN, str(PROFILE)} <= found(own)
    others_found = found(others)
    assert {OTHER, str(STRANGER)} <= others_found

    def of_others() -> list[Any]:
        models: Any = apps.get_app_config("carts").get_models()
        return [
            list(rows.order_by("pk").values())
            for rows in (
                *(model.objects.filter(profile_key=STRANGER) for model in models),
                LogEntry.objects.filter(object_repr__contains=STRANGER),
            )
        ]

    def all_values() -> list[str]:  # in no order: several servers answer in any
        return sorted(everywhere().splitlines())

    before, whole = of_others(), all_values()
    assert all(before)
    gone = ["1 cart", "5 log entries", "2 deleted carts", "8 idempotency records"]
    assert erase("--dry-run") == [f"{rows} would be deleted." for rows in gone]
    assert all_values() == whole
    assert erase("--no-input") == [f"{rows} deleted." for rows in gone]
    assert found(own) == set()
    assert of_others() == before
    assert found(others) == others_found
    assert erase("--no-input")[0] == "0 carts deleted."


@pytest.mark.parametrize("typed", ["no\n", "y\n", "", "Yes\n"])
def test_without_a_yes_nothing_is_erased(
    api: Api, unchanged: Callable[[], None], monkeypatch: pytest.MonkeyPatch, typed: str
) -> None:
    created(api)
    unchanged()
    monkeypatch.setattr("sys.stdin", StringIO(typed))
    with pytest.raises(CommandError, match="Nothing was erased"):
        erase()


def test_a_yes_erases(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    created(api)
    monkeypatch.setattr("sys.stdin", StringIO("yes\n"))
    assert erase()[0] == (
        "1 cart, 0 log entries, 0 deleted carts, 0 idempotency records will be lost for good. "
        "Type 'yes' to erase them."
    )
    assert not Cart.objects.exists()


@pytest.mark.parametrize("command", ["erase_customer", "export_customer"])
@pytest.mark.parametrize(
    "key", ["", "x", "4711", "0f8fad5bd9cb469fa16570867728950e", f"{PROFILE} "]
)
def test_a_key_that_is_none_is_refused(
    api: Api, unchanged: Callable[[], None], command: str, key: str
) -> None:
    created(api)
    unchanged()
    with pytest.raises(CommandError, match="is not a profile key such as 0f8fad5b-"):
        call_command(command, key)


def pause_with(monkeypatch: pytest.MonkeyPatch, pause: Callable[[float], object]) -> None:
    for module in ("carts.management.commands.erase_customer", "carts.management.batches"):
        monkeypatch.setattr(f"{module}.sleep", pause)


@pytest.mark.django_db(transaction=True)
def test_a_cart_that_is_being_changed_goes_in_another_round(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    busy, _ = CartFactory(profile_key=PROFILE), CartFactory(profile_key=PROFILE)
    with held(lambda: busy.add_item(**ItemFactory())) as release:
        pause_with(monkeypatch, lambda _: release())
        lines = erase("--no-input")
    if connection.vendor == "postgresql":  # SQLite waits for its only writer
        assert lines.count("1 cart deleted.") == 2
    assert not Cart.objects.exists()
    assert not CartItem.objects.exists()


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has no locks of rows")
def test_a_cart_that_stays_busy_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    busy, _ = CartFactory(profile_key=PROFILE), CartFactory(profile_key=PROFILE)
    pauses: list[float] = []
    pause_with(monkeypatch, pauses.append)
    with (
        held(lambda: busy.add_item(**ItemFactory())),
        pytest.raises(CommandError, match="Some of it is being changed"),
    ):
        erase("--no-input")
    assert list(Cart.objects.all()) == [busy]
    assert pauses == [1] * 5


def test_a_cart_that_is_created_meanwhile_goes_too(
    db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    created_meanwhile: list[Cart] = []

    class Out(StringIO):
        def write(self, text: str) -> int:
            if text.startswith("1 cart deleted.") and len(created_meanwhile) < 2:
                created_meanwhile.append(CartFactory(profile_key=PROFILE))
            return super().write(text)

    pause_with(monkeypatch, lambda _: None)
    CartFactory(profile_key=PROFILE)
    call_command("erase_customer", str(PROFILE), "--no-input", stdout=Out())
    assert len(created_meanwhile) == 2
    assert not Cart.objects.exists()


def export() -> str:
    out = StringIO()
    call_command("export_customer", str(PROFILE), stdout=out, stderr=StringIO())
    return out.getvalue()


def read(text: str) -> dict[str, Any]:
    """Return a document with exact numbers."""
    document: dict[str, Any] = json.loads(text, parse_float=Decimal)
    return document


def written(moment: datetime) -> str:
    """Return the moment as answers of the API have it."""
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")


def record(change: CartChange, **members: Any) -> dict[str, Any]:
    """Return what is exported of a change by the API, with these members or others."""
    return {
        **dict.fromkeys(map(camel_case, CHANGE_FIELDS)),
        "cartId": str(change.cart_id),
        "at": written(change.at),
        "authorKind": "bearer",
        "authorName": "partner-app",
        "requestId": change.request_id,
        **members,
    }


def test_all_that_is_held_is_exported(lead: Client, api: Api) -> None:
    """The price shows that numbers are exact."""
    price, option = Decimal("9999999999.9999"), bodies.option(price=Decimal("1.25"))
    item = bodies.item(
        displayName="Pizza “Ω” 🍕", price=float(price), quantity=9_999, options=[bodies.option()]
    )
    body = bodies.cart(items=[item], note="Call +49 171 5550123")
    answer = api.post(body=body, Idempotency_Key="k-1", X_Request_ID="request-1")
    first = answer.json()["data"]["cartId"]
    cart = Cart.objects.get(pk=first)
    pizza = cart.items.get()
    lead.post(item_page(cart), form_of(lead, item_page(cart)) | {"price": "9.95"})
    api.patch(f"/{first}", {"note": None}, X_Request_ID="request-3")
    second = created(api, bodies.bare_cart())
    water = bodies.item(price=10, options=[option | {"price": 0.5}])
    added = api.post(f"/{second}/items", water).json()["data"]["itemId"]
    third = created(api, bodies.bare_cart())
    api.delete(f"/{third}", X_Request_ID="request-9")
    deleted = DeletedCart.objects.get()
    fill(STRANGER, OTHER, lead)
    key, entry = IdempotencyRecord.objects.get(profile_key=PROFILE), LogEntry.objects.last()
    by_staff, by_api = cart.changes.all()
    assert by_staff.request_id
    assert entry
    before, after = (price + option["price"]) * 9_999, Decimal("111988.8")
    replacement = record(
        by_staff,
        version=2,
        authorKind="staff",
        authorName="anna",
        operation="Update Item",
        itemId=str(pizza.pk),
        itemName="Pizza “Ω” 🍕",
        before={"price": price},
        after={"price": Decimal("9.95")},
        subtotalBefore=before,
        subtotalAfter=after,
    )
    change = record(
        by_api,
        version=3,
        requestId="request-3",
        operation="Change Cart",
        before={"note": "Call +49 171 5550123"},
        after={"note": None},
        subtotalBefore=after,
        subtotalAfter=after,
    )
    empty = Cart.objects.get(pk=second)
    addition = record(
        empty.changes.get(),
        version=2,
        operation="Add Item",
        itemId=added,
        itemName="Pizza Margherita",
        before={},
        after={"position": 0, **water, "options": [option | {"price": Decimal("0.5")}]},
        subtotalBefore=0,
        subtotalAfter=21,
    )
    creation = {"kind": "bearer", "name": "partner-app"}
    text = export()
    assert read(text) == {
        "profileKey": str(PROFILE),
        "carts": [
            {
                **shown(api, first),
                "createdBy": {**creation, "requestId": "request-1"},
                "changes": [replacement, change],
            },
            {
                **shown(api, second),
                "createdBy": {**creation, "requestId": empty.created_request_id},
                "changes": [addition],
            },
        ],
        "logEntries": [
            {
                "at": written(entry.action_time),
                "by": "anna",
                "cartId": first,
                "message": "Item “Pizza “Ω” 🍕”: price 9,999,999,999.9999 → 9.95",
            }
        ],
        "deletedCarts": [
            {
                "id": third,
                "deletedOn": written(deleted.deleted_on),
                "authorKind": "bearer",
                "authorName": "partner-app",
                "requestId": "request-9",
            }
        ],
        "idempotencyRecords": [
            {
                "key": "k-1",
                "data": {"cartId": first},
                "version": 1,
                "createdOn": written(key.created_on),
            }
        ],
    }
    assert '"price": 10,' in text
    assert re.search('"subtotalAfter": 21[,}]', text)


def changed_carts(number: int) -> None:
    for _ in range(number):
        CartFactory(profile_key=PROFILE).add_item(**ItemFactory())


def test_a_reader_that_stalls_gets_what_is_left_with_its_history(db: None) -> None:
    changed_carts(12)
    pieces = document(str(PROFILE), held_of(str(PROFILE)))
    text = next(pieces)
    while "cartId" not in text:
        text += next(pieces)
    unguarded(Cart).all().delete()
    carts = read(text + "".join(pieces))["carts"]
    assert [len(cart["changes"]) for cart in carts] == [1] * 10  # those that were read at once


def test_a_cart_that_is_deleted_while_it_is_read_is_left_out(db: None) -> None:
    changed_carts(1)

    def delete_first(execute: Any, sql: str, *rest: Any) -> Any:
        if sql.startswith("SELECT") and 'FROM "carts_cartchange"' in sql:
            with connection.cursor() as cursor:
                for table in ("change", "itemoption", "item", ""):
                    execute(f"DELETE FROM carts_cart{table}", (), False, {"cursor": cursor.cursor})
        return execute(sql, *rest)

    with connection.execute_wrapper(delete_first):
        assert read(export())["carts"] == []


def test_a_customer_of_whom_nothing_is_held(db: None) -> None:
    CartFactory()
    out, told = StringIO(), StringIO()
    call_command("export_customer", str(PROFILE).upper(), stdout=out, stderr=told)
    assert read(out.getvalue()) == {
        "profileKey": str(PROFILE),
        "carts": [],
        "logEntries": [],
        "deletedCarts": [],
        "idempotencyRecords": [],
    }
    assert "Nothing is held of the customer" in told.getvalue()
