"""Close Cart, an extension: the end of a cart."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest

from carts.models import CartChange
from tests.api.ends_of_carts import ABANDONED, CHECKOUT, ORDERED, assert_closed, close, reopen
from tests.support.answers import errors_of, success
from tests.support.callers import Api
from tests.support.carts import shown
from tests.support.operations import CHANGES, send
from tests.support.table_contents import Unchanged


@pytest.mark.parametrize("seconds", [None, 60, 3600])
def test_a_checkout_holds_the_cart_for_some_time(
    api: Api, cart_id: str, seconds: int | None
) -> None:
    before = shown(api, cart_id)

    response = close(api, cart_id, {**CHECKOUT, "seconds": seconds})

    assert response.json() == success("The cart was closed.")
    assert response["ETag"] == '"2"'
    after = shown(api, cart_id)
    changed = {name for name in after if after[name] != before[name]}
    named = {"status", "closedOn", "closedUntil", "reference", "version", "modifiedOn"}
    assert changed == named
    assert (after["status"], after["reference"]) == ("checkout", "payment-1")
    start, end = map(datetime.fromisoformat, (after["closedOn"], after["closedUntil"]))
    assert end - start == timedelta(seconds=seconds or 900)
    assert after["closedOn"] == after["modifiedOn"]
    [record] = CartChange.objects.all()
    assert (record.operation, record.new["status"]) == ("Close Cart", "checkout")
    assert (record.old["reference"], record.new["reference"]) == (None, "payment-1")


@pytest.mark.parametrize(
    ("body", "errors"),
    [
        ({}, {"/outcome": "required"}),
        ({"outcome": "paid"}, {"/outcome": "invalid_type"}),
        ({"outcome": "open"}, {"/outcome": "invalid_type"}),
        ({"outcome": 1, "seconds": 5}, {"/outcome": "invalid_type", "/seconds": "min_value"}),
        ({"outcome": "checkout", "seconds": 60}, {"/reference": "required"}),
        ({"outcome": "ordered", "reference": None}, {"/reference": "required"}),
        ({"outcome": "ordered", "seconds": 60},
         {"/reference": "required", "/seconds": "cannot_change"}),
        *(
            ({**ORDERED, name: value}, {f"/{name}": code})
            for name in ("reference", "orderReference")
            for value, code in ((" ", "blank"), ("x" * 256, "max_length"), (4711, "invalid_type"))
        ),
        ({**CHECKOUT, "orderReference": "x"}, {"/orderReference": "cannot_change"}),
        ({**ABANDONED, "orderReference": 1, "seconds": 1},
         {"/orderReference": "invalid_type", "/seconds": "min_value"}),
        ({**ABANDONED, "orderReference": "x", "seconds": 60},
         {"/orderReference": "cannot_change", "/seconds": "cannot_change"}),
        ({**ORDERED, "seconds": 60, "order_reference": "x"},
         {"/seconds": "cannot_change", "/order_reference": "unknown_member"}),
        ({**CHECKOUT, "seconds": 59}, {"/seconds": "min_value"}),
        ({**CHECKOUT, "seconds": 3601}, {"/seconds": "max_value"}),
        ({**CHECKOUT, "seconds": "60"}, {"/seconds": "invalid_type"}),
        ({**CHECKOUT, "status": "ordered"}, {"/status": "unknown_member"}),
    ],
)  # fmt: skip
def test_a_body_that_closes_nothing(
    api: Api, cart_id: str, unchanged: Unchanged, body: Any, errors: dict[str, str]
) -> None:
    """What depends on the outcome is told once each value is of its type."""
    response = close(api, cart_id, body)
    assert response.status_code == 400
    assert sorted(errors_of(response)) == sorted((code, field) for field, code in errors.items())


@pytest.mark.parametrize("body", [CHECKOUT, ORDERED, ABANDONED], ids=lambda body: body["outcome"])
@pytest.mark.parametrize("name", [name for name in CHANGES if name != "Close Cart"])
def test_nothing_in_a_closed_cart_changes(
    api: Api, cart_id: str, item_id: str, unchanged: Unchanged, name: str, body: dict[str, str]
) -> None:
    close(api, cart_id, body)
    cart = shown(api, cart_id)
    unchanged()

    # Before the version is looked at, and before the currency is.
    response = send(api, name, cart_id, item_id, If_Match='"1"')

    assert_closed(response, cart)
    assert api.get(f"/{cart_id}").status_code == api.get().status_code == 200


NUMBERED = {**ORDERED, "orderReference": "2026-0815"}


def test_an_order_has_a_number(api: Api, cart_id: str) -> None:
    """It may come with the order, or later."""
    for outcome in (ORDERED, NUMBERED, {**NUMBERED, "orderReference": "2026-0816"}):
        assert close(api, cart_id, outcome).json() == success("The cart was closed.")
    cart = shown(api, cart_id)
    assert (cart["orderReference"], cart["reference"], cart["version"]) == (
        *("2026-0816", "payment-1"),
        4,
    )
    [summary] = api.get().json()["data"]["carts"]
    assert summary["orderReference"] == "2026-0816"
    [*_, second, third] = CartChange.objects.all()
    assert (second.old, second.new) == (
        {"order_reference": None},
        {"order_reference": "2026-0815"},
    )
    assert third.new == {"order_reference": "2026-0816"}


@pytest.mark.parametrize("character", ["x", "\U0001f355"])
def test_references_may_be_long(api: Api, cart_id: str, character: str) -> None:
    """Payment services reserve 255 characters for their ids."""
    long = character * 255
    close(api, cart_id, {**CHECKOUT, "reference": long})
    assert reopen(api, cart_id, {"reference": long})["ETag"] == '"3"'
    close(api, cart_id, {"outcome": "ordered", "reference": long, "orderReference": long})
    cart = shown(api, cart_id)
    assert (cart["reference"], cart["orderReference"]) == (long, long)


def test_a_version_that_has_passed_counts_where_nothing_would_change(
    api: Api, cart_id: str
) -> None:
    for status in (200, 412):
        assert close(api, cart_id, CHECKOUT, If_Match='"1"').status_code == status


@pytest.mark.parametrize(
    ("body", "days"), [(None, 30), (ORDERED, 7), (ABANDONED, 30), (CHECKOUT, 30)]
)
def test_a_cart_says_when_it_expires(
    api: Api, cart_id: str, keep_days: Callable[[int, int], None], body: Any, days: int
) -> None:
    assert shown(api, cart_id)["expiresOn"] is None
    keep_days(30, 7)
    if body:
        close(api, cart_id, body)
    cart = shown(api, cart_id)
    since = cart["closedOn"] if body == ORDERED else cart["modifiedOn"]
    expected = datetime.fromisoformat(since) + timedelta(days=days)
    assert datetime.fromisoformat(cart["expiresOn"]) == expected
    [summary] = api.get().json()["data"]["carts"]
    assert summary["expiresOn"] == cart["expiresOn"]
    keep_days(*((30, 0) if body == ORDERED else (0, 7)))
    assert shown(api, cart_id)["expiresOn"] is None
