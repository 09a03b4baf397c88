"""Reopen Cart, an extension."""

from io import BytesIO
from typing import Any

import pytest

from carts.models import CartChange
from tests.api.ends_of_carts import (
    ABANDONED,
    CHECKOUT,
    ORDERED,
    assert_closed,
    close,
    reopen,
    run_out,
)
from tests.support.answers import errors_of, success
from tests.support.callers import Api
from tests.support.carts import shown
from tests.support.table_contents import Unchanged


@pytest.mark.parametrize("body", [CHECKOUT, ORDERED, ABANDONED], ids=lambda body: body["outcome"])
def test_a_cart_is_reopened(api: Api, cart_id: str, body: Any) -> None:
    before = shown(api, cart_id)
    close(api, cart_id, body)

    response = api.post(f"/{cart_id}/reopen", If_Match='"2"')

    assert (response.json(), response["ETag"]) == (success("The cart is open."), '"3"')
    after = shown(api, cart_id)
    assert after == before | {"version": 3, "modifiedOn": after["modifiedOn"]}
    record = CartChange.objects.get(version=3)
    assert (record.operation, record.old["status"]) == ("Reopen Cart", body["outcome"])
    assert api.patch(f"/{cart_id}", {"note": "x"}).status_code == 200


def test_an_open_cart_is_open_already(api: Api, cart_id: str, unchanged: Unchanged) -> None:
    for body in (None, "", "null", {"reference": "payment-1"}):
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


@pytest.mark.parametrize(
    ("body", "error", "headers"),
    [
        ("no JSON", ("malformed_json", None), {}),
        ("[]", ("invalid_type", ""), {}),
        ({}, ("required", "/reference"), {}),
        ({"reference": None}, ("null", "/reference"), {}),
        ({"reference": ""}, ("blank", "/reference"), {}),
        ({"reference": "x" * 256}, ("max_length", "/reference"), {}),
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


def test_the_type_of_no_body_is_not_looked_at(api: Api, cart_id: str) -> None:
    close(api, cart_id, ORDERED)
    path = f"{api.base}/{cart_id}/reopen"
    assert api.client.generic("POST", path, CONTENT_TYPE="text/plain")["ETag"] == '"3"'


@pytest.mark.parametrize(("sent", "status"), [(b'{"reference": "x"}', 409), (b"", 200)])
def test_a_chunked_body_may_be_empty(api: Api, cart_id: str, sent: bytes, status: int) -> None:
    close(api, cart_id, ORDERED)
    chunked = {"HTTP_TRANSFER_ENCODING": "chunked", "wsgi.input_terminated": True}
    stream = {"wsgi.input": BytesIO(sent), "CONTENT_TYPE": "application/json"}
    response = api.client.generic("POST", f"{api.base}/{cart_id}/reopen", **chunked, **stream)
    assert response.status_code == status
