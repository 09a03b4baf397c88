"""Idempotency-Key on every operation that changes something."""

from collections import namedtuple
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Annotated, Any

import pytest
import simplejson
from django.conf import settings
from django.db import connection
from django.urls import resolve
from django.utils import timezone
from simplejson import RawJSON

from carts.models import Cart, IdempotencyRecord
from carts.records import Item
from carts.serializers import CartItemSerializer
from carts.value_types import Line, types_of
from carts.views import CartItemViewSet
from tests.support import bodies
from tests.support.answers import assert_refused, errors_of
from tests.support.callers import PROFILE, STRANGER, Api
from tests.support.carts import created, created_with_items, shown
from tests.support.concurrency import open_transaction
from tests.support.operations import CHANGES, send
from tests.support.table_contents import Unchanged


def become_as_old_as(**age: int) -> None:
    IdempotencyRecord.objects.update(created_on=timezone.now() - timedelta(**age))


@pytest.mark.parametrize("key", ["x", "~" * 255, '"quoted"', str(STRANGER), "a,b;c=d"])
def test_the_same_create_is_answered_again(api: Api, key: str) -> None:
    first = api.post(body=bodies.cart(), Idempotency_Key=key)
    second = api.post(body=bodies.cart(), Idempotency_Key=key)

    assert (first.status_code, second.status_code) == (200, 200)
    assert second.content == first.content
    assert "Idempotent-Replayed" not in first
    assert second["Idempotent-Replayed"] == "true"
    assert Cart.objects.count() == 1
    cart_id = first.json()["data"]["cartId"]
    assert shown(api, cart_id)["version"] == 1
    api.delete(f"/{cart_id}")
    assert api.post(body=bodies.cart(), Idempotency_Key=key).content == first.content
    assert not Cart.objects.exists()


@pytest.mark.parametrize(
    "written",
    [
        {"price": RawJSON("9.50")},
        {"price": RawJSON("9.5000000000000001")},
        {"quantity": RawJSON("2.0")},
        {"specialInstructions": None},
        {"options": None},
        {"options": []},
        {"colour": "red"},
        {"itemId": str(STRANGER)},
    ],
    ids=simplejson.dumps,
)
def test_equal_values_written_otherwise_are_the_same_request(
    api: Api, written: dict[str, Any]
) -> None:
    item = bodies.bare_item(price=9.5, quantity=2)
    for path, one, other in (
        ("", bodies.cart(items=[item]), bodies.cart(items=[item | written])),
        (f"/{created(api)}/items", item, item | written),
    ):
        key = f"key {path}".replace(" ", "-")
        first = api.post(path, one, Idempotency_Key=key)
        text = simplejson.dumps(other, sort_keys=True, indent=2)
        again = api.post(path, text, Idempotency_Key=key)
        assert (again.status_code, again.json()["data"]) == (200, first.json()["data"])
        assert again["Idempotent-Replayed"] == "true"


@pytest.mark.parametrize(
    ("other", "differs"),
    [
        ({"body": bodies.item(price=9.51)}, ["body"]),
        ({"body": bodies.item(displayName="Cafe\u0301")}, ["body"]),
        ({"If_Match": '"1"'}, ["If-Match"]),
        ({"Prefer": "return=representation"}, ["preference"]),
        ({"cart": str(STRANGER)}, ["path"]),
        ({"name": "Update Item"}, ["path"]),
        ({"name": "Remove Item", "body": None}, ["path", "body"]),
        ({"name": "Create Cart", "body": bodies.cart(), "If_Match": '"1"'}, ["path", "body"]),
        (
            {"name": "Change Item", "body": {}, "If_Match": "*", "Prefer": "return=representation"},
            ["path", "body", "preference"],
        ),
        (
            {"body": bodies.item(quantity=1), "If_Match": '"2"', "Prefer": "return=representation"},
            ["If-Match", "body", "preference"],
        ),
    ],
)
def test_another_request_with_the_key_is_told_what_differs(
    api: Api,
    cart_id: str,
    item_id: str,
    unchanged: Unchanged,
    other: dict[str, Any],
    differs: list[str],
) -> None:
    request = {"name": "Add Item", "cart": cart_id, "item": item_id, "body": bodies.item()}
    key = {"Idempotency_Key": "key-1"}
    assert send(api, **request, **key).status_code == 200
    unchanged()

    response = send(api, **{**request, **other}, **key)

    names = ", ".join(differs)
    text = f"This Idempotency-Key came with another request before. What differs: {names}."
    code, field = "idempotency_key_reused", "Idempotency-Key"
    assert_refused(response, 422, code, text, field, differs=differs)


def test_another_key_and_no_key_create_anew(api: Api) -> None:
    for headers in ({"Idempotency_Key": "a"}, {"Idempotency_Key": "A"}, {}, {}):
        api.post(body=bodies.cart(), **headers)

    assert Cart.objects.count() == 4
    assert IdempotencyRecord.objects.count() == 2


def test_a_key_is_its_profiles_and_partners_own(api: Api) -> None:
    callers = (api, Api(STRANGER), Api(partnerKey="ACME"), Api(partnerKey="OTHR"))
    sent = [(caller, bodies.cart()) for caller in callers[:3]]
    sent.append((callers[3], bodies.cart(partnerKey="OTHR")))

    first = [caller.post(body=body, Idempotency_Key="key-1") for caller, body in sent]
    again = [caller.post(body=body, Idempotency_Key="key-1") for caller, body in sent]

    assert {answer.status_code for answer in first} == {200}
    assert Cart.objects.count() == len(callers)
    assert [answer.content for answer in again] == [answer.content for answer in first]


def test_a_partner_is_not_told_another_partners_answer(api: Api, unchanged: Unchanged) -> None:
    cart_id = created(api)
    Api(partnerKey="ACME").post(f"/{cart_id}/items", bodies.item(), Idempotency_Key="key-1")
    unchanged()

    other = Api(partnerKey="OTHR")
    response = other.post(f"/{cart_id}/items", bodies.item(), Idempotency_Key="key-1")

    assert_refused(response, 404, "cart_not_found", "This profile has no such cart.")


def test_a_key_is_forgotten_after_a_day(api: Api) -> None:
    first = api.post(body=bodies.cart(), Idempotency_Key="key-1")
    become_as_old_as(hours=23, minutes=59)
    again = api.post(body=bodies.cart(), Idempotency_Key="key-1")
    become_as_old_as(hours=24, minutes=1)
    anew = api.post(body=bodies.cart(note="Another"), Idempotency_Key="key-1")

    assert again.content == first.content
    assert "Idempotent-Replayed" not in anew
    assert anew.json()["data"] != first.json()["data"]
    assert IdempotencyRecord.objects.count() == 1


@pytest.mark.parametrize(
    "key", ["", "a b", "tab\there", "caf\u00e9", "x" * 256, "a\0", "\x7f", "line\nfeed"]
)
def test_refuses_a_key_that_is_none(api: Api, unchanged: Unchanged, key: str) -> None:
    response = api.post(body=bodies.cart(), Idempotency_Key=key)

    text = "Idempotency-Key must be 1 to 255 visible ASCII characters."
    assert_refused(response, 400, "invalid_header", text, "Idempotency-Key")


def test_a_refused_request_leaves_its_key_free(api: Api, unchanged: Unchanged) -> None:
    path = f"/{created(api)}/items"
    unchanged()

    refused = [
        api.post(body=bodies.cart(note=7), Idempotency_Key="key-1"),
        api.post(body=bodies.cart(items=[bodies.item(currency="USD")]), Idempotency_Key="key-1"),
        api.post(path, bodies.item(currency="USD"), Idempotency_Key="key-1"),
        api.post(path, bodies.item(), Idempotency_Key="key-1", If_Match='"9"'),
        api.post(f"/{STRANGER}/items", bodies.item(), Idempotency_Key="key-1"),
    ]

    codes = [errors_of(response)[0][0] for response in refused]
    mismatches = ["currency_mismatch", "currency_mismatch", "version_mismatch"]
    assert codes == ["invalid_type", *mismatches, "cart_not_found"]


@pytest.mark.parametrize("name", [*CHANGES, "Reopen Cart"])
@pytest.mark.parametrize("later", ["Close Cart", "Delete Cart"])
def test_a_change_is_made_once(api: Api, name: str, later: str, unchanged: Unchanged) -> None:
    """Its retry is no 404, 409 or 412, though the cart has moved on, is closed or gone."""
    cart_id, [item_id] = created_with_items(api, "Pizza")
    headers = {"Idempotency_Key": "key-1", "Prefer": "return=representation"}
    change = partial(send, api, name, cart_id, item_id, **headers)

    first = change(If_Match='"1"')
    send(api, later, cart_id)
    unchanged()
    again = change(If_Match='"1"')
    other = change(If_Match='"1", "2"')

    assert (first.status_code, again.status_code, again.content) == (200, 200, first.content)
    assert "Idempotent-Replayed" not in first
    assert again["Idempotent-Replayed"] == "true"
    for header in ("ETag", "Preference-Applied"):
        assert first.headers.get(header) == again.headers.get(header)
    assert errors_of(other) == [("idempotency_key_reused", "Idempotency-Key")]


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite locks no rows")
@pytest.mark.django_db(transaction=True)
def test_a_replay_locks_what_it_answers_from(api: Api, unchanged: Unchanged) -> None:
    """A lock is in the log, so the answer waits for a standby as the first one did."""
    first = api.post(body=bodies.cart(), Idempotency_Key="key-1")
    unchanged()

    with open_transaction(
        lambda: IdempotencyRecord.objects.select_for_update().get(profile_key=PROFILE)
    ):
        refused = api.post(body=bodies.cart(), Idempotency_Key="key-1")

    text = "A request with this Idempotency-Key is still running."
    assert_refused(refused, 409, "request_in_progress", text, "Idempotency-Key")
    assert api.post(body=bodies.cart(), Idempotency_Key="key-1").content == first.content


def test_a_key_outlives_a_release_that_renames_a_method(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = f"/{created(api)}/items"
    first = api.post(path, bodies.item(), Idempotency_Key="key")

    view: Any = resolve(f"/v2.0/customers/{PROFILE}/carts{path}", settings.API_URLCONF).func
    monkeypatch.setattr(CartItemViewSet, "renamed", CartItemViewSet.create, raising=False)
    monkeypatch.setitem(view.actions, "post", "renamed")
    again = api.post(path, bodies.item(), Idempotency_Key="key")

    assert (first.status_code, again.content) == (200, first.content)
    assert again["Idempotent-Replayed"] == "true"


# An item as a later release may know it: with one more optional member.
FIELDS = {**types_of(Item), "external_reference": Line(50)}
NewerItem: Any = namedtuple("NewerItem", FIELDS)
NewerItem.__annotations__ = {name: Annotated[Any, kind] for name, kind in FIELDS.items()}
NewerItem._field_defaults = {**Item._field_defaults, "external_reference": None}
NewerItem.value = Item.value


class NewerItemSerializer(CartItemSerializer):
    record = NewerItem


@pytest.mark.parametrize("newer_first", [True, False])
def test_a_key_outlives_a_release_that_adds_an_optional_member(
    api: Api, monkeypatch: pytest.MonkeyPatch, *, newer_first: bool
) -> None:
    """In either direction, as two releases run at once during an upgrade."""
    declared, path = vars(CartItemViewSet.create), f"/{created(api)}/items"
    releases = [declared["operation"], replace(declared["operation"], body=NewerItemSerializer())]
    answers, unknown = [], []
    for operation in reversed(releases) if newer_first else releases:
        monkeypatch.setitem(declared, "operation", operation)
        answers.append(api.post(path, bodies.item(), Idempotency_Key="key"))
        told = api.post(path, bodies.item(externalReference="POS-1")).json()["notifications"][1:]
        unknown.append([warning["additionalData"]["field"] for warning in told])

    # These are two releases: the older one does not know the member.
    assert sorted(unknown) == [[], ["/externalReference"]]
    first, again = answers
    assert (first.status_code, again.status_code) == (200, 200)
    assert again.content == first.content
    assert again["Idempotent-Replayed"] == "true"
