"""Close Cart and Reopen Cart, extensions: the end of a cart."""

from datetime import UTC, datetime, timedelta
from functools import partial
from io import BytesIO
from typing import Any

import pytest
from django.utils import timezone

from carts.models import Cart, CartChange
from tests.api.valid_requests import CHANGES, after, send
from tests.support.answers import assert_refused, errors_of, success
from tests.support.callers import Api
from tests.support.carts import created, shown
from tests.support.table_contents import Unchanged, unguarded_rows

CHECKOUT = {"outcome": "checkout", "reference": "payment-1"}
ORDERED = {"outcome": "ordered", "reference": "payment-1"}
ABANDONED = {"outcome": "abandoned"}


def close(api: Api, cart_id: str, body: Any, **headers: str) -> Any:
    return api.post(f"/{cart_id}/close", body, **headers)


def reopen(api: Api, cart_id: str, body: Any = None, **headers: str) -> Any:
    return api.post(f"/{cart_id}/reopen", body, **headers)


def assert_closed(response: Any, cart: Any, field: str | None = None) -> None:
    """Check that the answer tells how the cart is closed, in words and as facts."""
    when = f"since {cart['closedOn']}"
    if cart["closedUntil"]:
        when = f"until {cart['closedUntil']}"
    text = f"The cart is closed: {cart['status']} {when}."
    facts = {name: cart[name] for name in ("status", "closedOn", "closedUntil")}
    assert_refused(response, 409, "cart_closed", text, field, **facts)


def run_out(cart_id: str) -> None:
    """Let the checkout have ended a moment ago."""
    past = timezone.now() - timedelta(seconds=1)
    unguarded_rows(Cart).filter(pk=cart_id).update(closed_until=past)


def now_after(**later: int) -> datetime:
    return datetime.now(UTC) + timedelta(**later)


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
    assert (record.operation, record.now["status"]) == ("Close Cart", "checkout")
    assert (record.was["reference"], record.now["reference"]) == (None, "payment-1")


@pytest.mark.parametrize("body", [ORDERED, ABANDONED, {**ABANDONED, "reference": "left"}])
def test_what_is_closed_for_good(api: Api, cart_id: str, body: dict[str, str]) -> None:
    assert close(api, cart_id, body).status_code == 200
    cart = shown(api, cart_id)
    found = cart["status"], cart["reference"], cart["closedUntil"]
    assert found == (body["outcome"], body.get("reference"), None)
    assert cart["closedOn"] == cart["modifiedOn"]


@pytest.mark.parametrize(
    ("body", "errors"),
    [
        ({}, {"/outcome": "required"}),
        ({"outcome": "paid"}, {"/outcome": "invalid_type"}),
        ({"outcome": "open"}, {"/outcome": "invalid_type"}),
        ({"outcome": 1, "seconds": 5}, {"/outcome": "invalid_type", "/seconds": "min_value"}),
        ({"outcome": "checkout", "seconds": 5},
         {"/reference": "required", "/seconds": "min_value"}),
        ({"outcome": "ordered", "reference": None}, {"/reference": "required"}),
        ({"outcome": "ordered", "seconds": 60},
         {"/reference": "required", "/seconds": "cannot_change"}),
        ({**ORDERED, "reference": " "}, {"/reference": "blank"}),
        ({**ORDERED, "reference": "x" * 256}, {"/reference": "max_length"}),
        ({**ORDERED, "orderReference": "x" * 256}, {"/orderReference": "max_length"}),
        ({**ORDERED, "orderReference": "a\x00"}, {"/orderReference": "control_character"}),
        ({**ORDERED, "orderReference": 4711}, {"/orderReference": "invalid_type"}),
        ({**CHECKOUT, "orderReference": "x"}, {"/orderReference": "cannot_change"}),
        ({**ABANDONED, "orderReference": 1, "seconds": 1},
         {"/orderReference": "cannot_change", "/seconds": "cannot_change"}),
        ({**ORDERED, "order_reference": "x"}, {"/order_reference": "unknown_member"}),
        ({**ORDERED, "seconds": 60, "order_reference": "x"},
         {"/seconds": "cannot_change", "/order_reference": "unknown_member"}),
        ({**ORDERED, "reference": "a\nb"}, {"/reference": "control_character"}),
        ({**ORDERED, "seconds": 60}, {"/seconds": "cannot_change"}),
        ({**ABANDONED, "seconds": "x"}, {"/seconds": "cannot_change"}),
        ({**CHECKOUT, "seconds": 59}, {"/seconds": "min_value"}),
        ({**CHECKOUT, "seconds": 3601}, {"/seconds": "max_value"}),
        ({**CHECKOUT, "seconds": "60"}, {"/seconds": "invalid_type"}),
        ({**CHECKOUT, "status": "ordered"}, {"/status": "unknown_member"}),
    ],
)  # fmt: skip
def test_a_body_that_closes_nothing(
    api: Api, cart_id: str, unchanged: Unchanged, body: Any, errors: dict[str, str]
) -> None:
    """All that is wrong in it is told at once."""
    response = close(api, cart_id, body, Prefer="handling=strict")
    assert response.status_code == 400
    assert sorted(errors_of(response)) == sorted((code, field) for field, code in errors.items())


@pytest.mark.parametrize("body", [CHECKOUT, ORDERED, ABANDONED], ids=lambda body: body["outcome"])
@pytest.mark.parametrize("name", [name for name in CHANGES if name != "close"])
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
    """It may come with the order, or later. The end of the cart stays what and when it was."""
    close(api, cart_id, CHECKOUT)
    for outcome in (ORDERED, NUMBERED, {**NUMBERED, "orderReference": "2026-0816"}):
        assert close(api, cart_id, outcome).json() == success("The cart was closed.")
    cart = shown(api, cart_id)
    assert (cart["orderReference"], cart["reference"], cart["version"]) == (
        *("2026-0816", "payment-1"),
        5,
    )
    assert cart["closedOn"] < cart["modifiedOn"]
    [summary] = api.get().json()["data"]["carts"]
    assert summary["orderReference"] == "2026-0816"
    [*_, second, third] = CartChange.objects.all()
    assert (second.was, second.now) == (
        {"order_reference": None},
        {"order_reference": "2026-0815"},
    )
    assert third.now == {"order_reference": "2026-0816"}

    # What is not sent stays, and the same again changes nothing.
    for again in (ORDERED, {**ORDERED, "orderReference": "2026-0816"}):
        assert close(api, cart_id, again)["ETag"] == '"5"'
    assert shown(api, cart_id) == cart

    reopen(api, cart_id)
    cart = shown(api, cart_id)
    assert (cart["status"], cart["reference"], cart["orderReference"]) == ("open", None, None)


def test_the_number_of_another_order_is_refused(
    api: Api, cart_id: str, unchanged: Unchanged
) -> None:
    close(api, cart_id, NUMBERED)
    unchanged()
    other = close(api, cart_id, {**NUMBERED, "reference": "payment-2"})
    assert (other.status_code, errors_of(other)) == (409, [("cart_closed", "/reference")])


@pytest.mark.parametrize("character", ["x", "\U0001f355"])
def test_references_may_be_long(api: Api, cart_id: str, character: str) -> None:
    """Payment services reserve 255 characters for their ids."""
    long = character * 255
    close(api, cart_id, {**CHECKOUT, "reference": long})
    assert reopen(api, cart_id, {"reference": long})["ETag"] == '"3"'
    close(api, cart_id, {"outcome": "ordered", "reference": long, "orderReference": long})
    cart = shown(api, cart_id)
    assert (cart["reference"], cart["orderReference"]) == (long, long)


@pytest.mark.parametrize(
    ("first", "second", "status", "version"),
    [
        (CHECKOUT, CHECKOUT, 200, 2),
        (CHECKOUT, {**CHECKOUT, "seconds": 900}, 200, 2),
        (CHECKOUT, {**CHECKOUT, "seconds": 60}, 200, 3),
        (CHECKOUT, ORDERED, 200, 3),
        (CHECKOUT, {**CHECKOUT, "reference": "payment-2"}, 409, 2),
        (CHECKOUT, {**ORDERED, "reference": "payment-2"}, 409, 2),
        (CHECKOUT, ABANDONED, 409, 2),
        (CHECKOUT, {**ABANDONED, "reference": "payment-1"}, 409, 2),
        (ORDERED, ORDERED, 200, 2),
        (ORDERED, CHECKOUT, 409, 2),
        (ORDERED, {**ORDERED, "reference": "order-2"}, 409, 2),
        (ORDERED, ABANDONED, 409, 2),
        (ABANDONED, ABANDONED, 200, 2),
        (ABANDONED, ORDERED, 409, 2),
        (ABANDONED, {**ABANDONED, "reference": "x"}, 409, 2),
    ],
)
def test_closed_again(
    api: Api, cart_id: str, first: Any, second: Any, status: int, version: int
) -> None:
    close(api, cart_id, first)
    before = shown(api, cart_id)

    response = close(api, cart_id, second)

    after = shown(api, cart_id)
    assert (response.status_code, after["version"]) == (status, version)
    if status == 409:
        known = {first.get("reference"), second.get("reference")} - {None}
        is_another = len(known) > 1 or first["outcome"] == second["outcome"]
        field = "/reference" if is_another else "/outcome"
        assert errors_of(response) == [("cart_closed", field)]
        # Of two tabs that pay one gets the cart: the other is told so, whatever it has read.
        assert close(api, cart_id, second, If_Match='"1"').status_code == 409
    if version == 2:
        assert after == before
    else:
        assert after["closedOn"] > before["closedOn"]
        assert after["status"] == second["outcome"]
        assert (after["closedUntil"] is None) == (second["outcome"] == "ordered")


def test_a_version_that_has_passed_counts_where_nothing_would_change(
    api: Api, cart_id: str
) -> None:
    for status in (200, 412):
        assert close(api, cart_id, CHECKOUT, If_Match='"1"').status_code == status


@pytest.mark.parametrize("body", [CHECKOUT, ORDERED, ABANDONED], ids=lambda body: body["outcome"])
def test_a_cart_is_reopened(api: Api, cart_id: str, body: Any) -> None:
    before = shown(api, cart_id)
    close(api, cart_id, body)

    response = api.post(f"/{cart_id}/reopen", If_Match='"2"')

    assert (response.json(), response["ETag"]) == (success("The cart is open."), '"3"')
    after = shown(api, cart_id)
    assert after == before | {"version": 3, "modifiedOn": after["modifiedOn"]}
    record = CartChange.objects.get(version=3)
    assert (record.operation, record.was["status"]) == ("Reopen Cart", body["outcome"])
    assert api.patch(f"/{cart_id}", {"note": "x"}).status_code == 200


def test_an_open_cart_is_open_already(api: Api, cart_id: str, unchanged: Unchanged) -> None:
    for body in (None, "", "null", {}, {"reference": None}, {"reference": "payment-1"}):
        response = reopen(api, cart_id, body, If_Match='"1"')
        assert (response.json(), response["ETag"]) == (success("Nothing was changed."), '"1"')
    assert api.post(f"/{cart_id}/reopen", If_Match='"2"').status_code == 412


def test_late_news_of_a_failed_payment_opens_no_other_checkout(
    api: Api, cart_id: str, unchanged: Unchanged
) -> None:
    """Payment services tell it late, twice and in any order."""
    close(api, cart_id, {**CHECKOUT, "reference": "payment-A"})
    run_out(cart_id)
    for outcome in ("checkout", "ordered"):
        cart = close(api, cart_id, {"outcome": outcome, "reference": "payment-B"})
        unchanged()
        for version in (cart["ETag"], '"1"'):  # before the version is looked at
            late = reopen(api, cart_id, {"reference": "payment-A"}, If_Match=version)
            assert_closed(late, shown(api, cart_id), "/reference")
    paid = reopen(api, cart_id, {"reference": "payment-B"})
    assert_closed(paid, shown(api, cart_id), "/reference")


@pytest.mark.parametrize("body", [ABANDONED, {**ABANDONED, "reference": "payment-1"}])
def test_no_reference_opens_what_is_abandoned(
    api: Api, cart_id: str, unchanged: Unchanged, body: Any
) -> None:
    close(api, cart_id, body)
    unchanged()
    response = reopen(api, cart_id, {"reference": "payment-1"})
    assert errors_of(response) == [("cart_closed", "/reference")]


def test_a_reference_opens_its_checkout_once(api: Api, cart_id: str) -> None:
    close(api, cart_id, CHECKOUT)
    for _ in range(2):
        response = reopen(api, cart_id, {"reference": "payment-1"}, Idempotency_Key="news-1")
        assert (response.json(), response["ETag"]) == (success("The cart is open."), '"3"')
    assert shown(api, cart_id)["status"] == "open"
    # The same news, told by a request of its own.
    assert reopen(api, cart_id, {"reference": "payment-1"})["ETag"] == '"3"'


@pytest.mark.parametrize(
    ("body", "error", "headers"),
    [
        ("no JSON", ("malformed_json", None), {}),
        ("[]", ("invalid_type", ""), {}),
        ({"reference": 1}, ("invalid_type", "/reference"), {}),
        ({"reference": ""}, ("blank", "/reference"), {}),
        ({"reference": "x" * 256}, ("max_length", "/reference"), {}),
        (
            {"orderReference": 1},
            ("unknown_member", "/orderReference"),
            {"Prefer": "handling=strict"},
        ),
        ({"outcome": "x"}, ("unknown_member", "/outcome"), {"Prefer": "handling=strict"}),
        ("reference=x", ("unsupported_media_type", "Content-Type"), {"Content_Type": "text/plain"}),
    ],
    ids=str,
)
def test_a_body_that_opens_nothing(
    api: Api, cart_id: str, unchanged: Unchanged, body: Any, error: Any, headers: dict[str, str]
) -> None:
    close(api, cart_id, CHECKOUT)
    unchanged()
    assert errors_of(reopen(api, cart_id, body, **headers)) == [error]


def test_a_hold_that_is_repeated_after_a_reopen_holds_nothing(api: Api, cart_id: str) -> None:
    """The key belongs to one attempt to pay, as the page says."""
    hold = partial(close, api, cart_id, CHECKOUT, Prefer="return=representation")
    held = hold(Idempotency_Key="attempt-1")
    reopen(api, cart_id, {"reference": "payment-1"})

    again = hold(Idempotency_Key="attempt-1")

    assert (again["Idempotent-Replayed"], again.content) == ("true", held.content)
    assert shown(api, cart_id)["status"] == "open"


def test_an_order_without_a_version_is_of_what_the_cart_holds_by_then(
    api: Api, cart_id: str
) -> None:
    held = close(api, cart_id, CHECKOUT)["ETag"]
    run_out(cart_id)
    api.patch(f"/{cart_id}", {"note": "x"})
    assert close(api, cart_id, ORDERED, If_Match=held).status_code == 412
    assert close(api, cart_id, ORDERED)["ETag"] == '"4"'


@pytest.mark.parametrize("headers", [{}, {"Content_Type": "text/plain"}], ids=str)
def test_a_cart_is_opened_without_a_body(api: Api, cart_id: str, headers: Any) -> None:
    close(api, cart_id, ORDERED)
    assert reopen(api, cart_id, "", **headers)["ETag"] == '"3"'


@pytest.mark.parametrize(("sent", "status"), [(b'{"reference": "x"}', 409), (b"", 200)])
def test_a_chunked_body_may_be_empty(api: Api, cart_id: str, sent: bytes, status: int) -> None:
    close(api, cart_id, ORDERED)
    chunked = {"HTTP_TRANSFER_ENCODING": "chunked", "wsgi.input_terminated": True}
    stream = {"wsgi.input": BytesIO(sent), "CONTENT_TYPE": "application/json"}
    response = api.client.generic("POST", f"{api.base}/{cart_id}/reopen", **chunked, **stream)
    assert response.status_code == status


def test_a_checkout_that_has_run_out_is_open_in_every_respect(api: Api, cart_id: str) -> None:
    before = shown(api, cart_id)
    close(api, cart_id, CHECKOUT)
    run_out(cart_id)

    after = shown(api, cart_id)
    assert after == before | {"version": 2, "modifiedOn": after["modifiedOn"]}
    assert [cart["status"] for cart in api.get("?status=open").json()["data"]["carts"]] == ["open"]
    assert api.get("?status=checkout").json()["data"]["carts"] == []
    reopened = api.post(f"/{cart_id}/reopen")
    assert (reopened.status_code, reopened["ETag"]) == (200, '"2"')
    assert api.patch(f"/{cart_id}", {"note": "x"})["ETag"] == '"3"'
    assert shown(api, cart_id)["status"] == "open"
    # For another payment; and what the row has of the first one is gone with it.
    assert close(api, cart_id, ABANDONED)["ETag"] == '"4"'
    cart = shown(api, cart_id)
    assert (cart["status"], cart["reference"], cart["closedUntil"]) == ("abandoned", None, None)


def test_the_seconds_of_a_checkout_count_from_now(
    api: Api, cart_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another machine, whose clock was a day ahead, has changed the cart."""
    with monkeypatch.context() as patch:
        patch.setattr(timezone, "now", partial(now_after, days=1))
        api.patch(f"/{cart_id}", {"note": "x"})
    began = now_after()

    assert close(api, cart_id, {**CHECKOUT, "seconds": 60}).status_code == 200

    cart = shown(api, cart_id)
    start, end = map(datetime.fromisoformat, (cart["closedOn"], cart["closedUntil"]))
    assert began <= start <= now_after()
    assert end - start == timedelta(minutes=1)


@pytest.mark.parametrize("name", [name for name in CHANGES if name not in {"close", "delete"}])
def test_a_cart_that_was_changed_stays_open_when_a_clock_goes_back(
    api: Api, cart_id: str, item_id: str, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    close(api, cart_id, CHECKOUT)
    with monkeypatch.context() as patch:
        patch.setattr(timezone, "now", partial(now_after, hours=1))
        assert send(api, name, cart_id, item_id)["ETag"] == '"3"'
    api = after(name, api)

    cart = shown(api, cart_id)
    assert (cart["status"], cart["closedOn"], cart["closedUntil"]) == ("open", None, None)
    assert cart["reference"] is None
    assert api.patch(f"/{cart_id}", {"note": "y"})["ETag"] == '"4"'


def test_who_has_seen_the_checkout_is_told_that_it_has_run_out(api: Api, cart_id: str) -> None:
    seen = close(api, cart_id, CHECKOUT)["ETag"]
    assert api.get(f"/{cart_id}", If_None_Match=seen).status_code == 304

    run_out(cart_id)

    for version in (seen, "*"):
        response = api.get(f"/{cart_id}", If_None_Match=version)
        assert (response.status_code, response["ETag"]) == (200, seen)
        assert response.json()["data"]["status"] == "open"


def test_seconds_that_are_not_sent_are_the_same_as_those_that_count(api: Api, cart_id: str) -> None:
    first = close(api, cart_id, CHECKOUT, Idempotency_Key="key-1")
    again = close(api, cart_id, {**CHECKOUT, "seconds": 900}, Idempotency_Key="key-1")
    assert (first.status_code, again.status_code) == (200, 200)
    assert again["Idempotent-Replayed"] == "true"


def test_carts_are_listed_by_their_status(api: Api) -> None:
    ids = {"open": created(api)}
    for body in (CHECKOUT, ORDERED, ABANDONED):
        ids[body["outcome"]] = created(api)
        close(api, ids[body["outcome"]], body)

    for status, cart_id in ids.items():
        [cart] = api.get(f"?status={status}").json()["data"]["carts"]
        assert (cart["cartId"], cart["status"]) == (cart_id, status)
    assert len(api.get().json()["data"]["carts"]) == 4
    for query in ("status=", "status=Open", "status=paid"):
        assert errors_of(api.get(f"?{query}")) == [("invalid_parameter", "status")]


def test_pages_of_one_status(api: Api) -> None:
    ids = [created(api) for _ in range(5)]
    for cart_id in ids[::2]:
        close(api, cart_id, ORDERED)
    first = api.get("?status=ordered&limit=2").json()["data"]
    rest = api.get(f"?status=ordered&limit=2&cursor={first['nextCursor']}").json()["data"]
    found = [cart["cartId"] for cart in first["carts"] + rest["carts"]]
    assert (found, rest["nextCursor"]) == (ids[::2][::-1], None)


@pytest.mark.parametrize(
    ("body", "days"), [(None, 30), (ORDERED, 7), (ABANDONED, 30), (CHECKOUT, 30)]
)
def test_a_cart_says_when_it_expires(
    api: Api, cart_id: str, settings: Any, body: Any, days: int
) -> None:
    assert shown(api, cart_id)["expiresOn"] is None
    settings.CART_DAYS, settings.ORDERED_CART_DAYS = 30, 7
    if body:
        close(api, cart_id, body)
    cart = shown(api, cart_id)
    since = cart["closedOn"] if body == ORDERED else cart["modifiedOn"]
    expected = datetime.fromisoformat(since) + timedelta(days=days)
    assert datetime.fromisoformat(cart["expiresOn"]) == expected
    [summary] = api.get().json()["data"]["carts"]
    assert summary["expiresOn"] == cart["expiresOn"]
    settings.CART_DAYS = settings.ORDERED_CART_DAYS = 0
    assert shown(api, cart_id)["expiresOn"] is None
