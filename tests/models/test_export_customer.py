"""All that is held of a customer: it is exported, and nobody else's."""

import gc
import json
import tracemalloc
import uuid
from datetime import datetime
from decimal import Decimal
from io import StringIO
from typing import Any

from django.contrib.admin.models import LogEntry
from django.core.management import call_command

from carts.models import (
    Cart,
    CartChange,
    DeletedCart,
    IdempotencyRecord,
)
from cartsvc.member_names import camel_case
from tests.desk.conftest import form_of, item_page, staff
from tests.models.customers import OTHER, fill
from tests.support import bodies
from tests.support.callers import PROFILE, STRANGER, Api
from tests.support.carts import created, shown
from tests.support.factories import CartFactory


def export(profile: uuid.UUID = PROFILE) -> Any:
    """Return the document, with exact numbers."""
    out = StringIO()
    call_command("export_customer", str(profile), stdout=out)
    return json.loads(out.getvalue(), parse_float=Decimal)


def written(moment: datetime) -> str:
    """Return the moment as answers of the API have it."""
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")


def record(change: CartChange, **members: Any) -> dict[str, Any]:
    """Return what is exported of a change by the API, with these members or others."""
    return {
        **dict.fromkeys(camel_case(field.attname) for field in CartChange._meta.concrete_fields),
        "profileKey": str(PROFILE),
        "cartId": str(change.cart_id),
        "at": written(change.at),
        "authorKind": "bearer",
        "authorName": "partner-app",
        "requestId": change.request_id,
        **members,
    }


def test_the_end_of_a_cart_is_exported(api: Api) -> None:
    end = {"outcome": "ordered", "reference": "payment-1", "orderReference": "2026-0815"}
    cart_id = created(api)
    api.post(f"/{cart_id}/close", end)
    [cart] = export()["carts"]
    assert (cart["status"], cart["reference"], cart["orderReference"]) == tuple(end.values())
    [change] = cart["changes"]
    assert change["after"]["orderReference"] == "2026-0815"


def test_all_that_is_held_is_exported(api: Api) -> None:
    """The price shows that numbers are exact."""
    lead = staff("Cart support lead")
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
    creation = {"kind": "bearer", "name": "partner-app", "why": None}
    assert export() == {
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
                "message": "Item “\u2068Pizza “Ω” 🍕\u2069”: price 9,999,999,999.9999 → 9.95",
            }
        ],
        "deletedCarts": [
            {
                "id": third,
                "profileKey": str(PROFILE),
                "partnerKey": "ACME",
                "restaurantKey": 4711,
                "deletedOn": written(deleted.deleted_on),
                "authorKind": "bearer",
                "authorName": "partner-app",
                "requestId": "request-9",
            }
        ],
        "movedCarts": [],
        "idempotencyRecords": [
            {
                "key": "k-1",
                "data": {"cartId": first},
                "version": 1,
                "createdOn": written(key.created_on),
            }
        ],
    }


class Nowhere(StringIO):
    def write(self, text: str) -> int:
        return len(text)


def held_at_once() -> int:
    """Return the most bytes that an export has held."""
    gc.collect()
    tracemalloc.start()
    try:
        call_command("export_customer", str(PROFILE), stdout=Nowhere())
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_however_much_is_held_of_a_customer_little_of_it_is_read_at_once(api: Api) -> None:
    def fill_up(first: int, number: int) -> None:
        items = [bodies.item(specialInstructions="x" * 300) for _ in range(50)]
        for n in range(first, first + number):
            cart_id = created(api)
            for name in "abcdefgh"[:number]:
                sent = {"items": [item | {"displayName": name} for item in items]}
                assert api.put(f"/{cart_id}/items", sent).status_code == 200
            IdempotencyRecord.objects.bulk_create(
                IdempotencyRecord(
                    profile_key=PROFILE, key=f"{n}-{m}", digest=b"d", data=f'["{"y" * 10**5}"]'
                )
                for m in range(10)
            )

    fill_up(0, 2)
    held = held_at_once()
    fill_up(10, 6)
    assert held_at_once() / held < 1.5


def test_a_customer_of_whom_nothing_is_held(db: None) -> None:
    CartFactory()
    assert export() == {
        "profileKey": str(PROFILE),
        "carts": [],
        "logEntries": [],
        "deletedCarts": [],
        "movedCarts": [],
        "idempotencyRecords": [],
    }
