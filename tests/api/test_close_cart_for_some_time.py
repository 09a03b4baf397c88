"""A checkout runs out by itself."""

from functools import partial

import pytest
from django.utils import timezone

from tests.api.ends_of_carts import (
    ABANDONED,
    CHECKOUT,
    close,
    now_after,
    run_out,
)
from tests.support.callers import Api
from tests.support.carts import shown
from tests.support.operations import CHANGES, after, send


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


@pytest.mark.parametrize(
    "name", [name for name in CHANGES if name not in {"Close Cart", "Delete Cart"}]
)
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
