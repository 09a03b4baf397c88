"""An ordering evening: two phones of a customer, an order service and a member of staff."""

from functools import partial
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

from carts.models import CartChange
from tests.support import bodies
from tests.support.callers import PROFILE, HttpApi
from tests.support.carts import created, shown
from tests.support.concurrency import together

pytestmark = pytest.mark.django_db(transaction=True)


def test_what_the_customer_saw_is_what_is_paid(live_server: Any) -> None:
    caller = partial(HttpApi, live_server.url, kept=False)
    customer = {"profileKey": str(PROFILE), "scope": "Cart.Write"}
    phone, tablet = (caller(sub=name, **customer) for name in ("phone", "tablet"))
    orders = caller(sub="orders", scope="Cart.Read Cart.Close Cart.AnyProfile")
    staff = Client()
    staff.force_login(get_user_model().objects.create_superuser("anna"))

    cart = f"/{created(phone, bodies.bare_cart())}"
    dishes = [bodies.bare_item(displayName=f"Dish {n}", price=n) for n in range(1, 9)]
    ids = phone.post(f"{cart}/items/batch", {"items": dishes}).json()["data"]["itemIds"]

    # While the order service takes the cart, the tablet edits: one of the two wins.
    seen = shown(orders, cart[1:])
    checkout = {"outcome": "checkout", "reference": "payment-1"}
    close = partial(orders.post, f"{cart}/close", checkout, If_Match=f'"{seen["version"]}"')
    edit = partial(
        tablet.patch, f"{cart}/items/{ids[1]}", {"quantity": 9}, If_Match=f'"{seen["version"]}"'
    )
    held, edited = together([close, edit])
    assert (held.status_code, edited.status_code) in {(200, 409), (412, 200)}
    if held.status_code == 412:
        seen = shown(orders, cart[1:])
        assert close(If_Match=f'"{seen["version"]}"').status_code == 200
    assert phone.delete(cart).status_code == 409

    # The payment fails, the customer takes a dish away, and pays again.
    assert phone.post(f"{cart}/reopen").status_code == 403
    assert orders.post(f"{cart}/reopen").status_code == 200
    assert phone.delete(f"{cart}/items/{ids[7]}").status_code == 200
    seen = shown(orders, cart[1:])
    again = {"reference": "payment-2"}
    held = orders.post(
        f"{cart}/close",
        {"outcome": "checkout", **again},
        If_Match=f'"{seen["version"]}"',
        Prefer="return=representation",
    )
    paid = held.json()["data"]
    ordered = orders.post(f"{cart}/close", {"outcome": "ordered", **again})
    assert ordered.status_code == 200
    assert (paid["items"], paid["subtotal"]) == (seen["items"], seen["subtotal"])
    assert shown(phone, cart[1:])["items"] == seen["items"]

    # A member of staff reopens the order by mistake, and the order service closes it anew.
    version = int(ordered.headers["ETag"].strip('"'))
    staff.post(f"/admin/carts/cart{cart}/reopen/", {"version": version, "why": "Wrong cart"})
    assert shown(phone, cart[1:])["status"] == "open"
    last = orders.post(f"{cart}/close", {"outcome": "ordered", **again})
    assert last.status_code == 200

    history = CartChange.objects.order_by("version").values_list("operation", "author_name")
    assert history[0] == ("Add Items", "phone")
    assert [*history][-6:] == [
        ("Reopen Cart", "orders"),
        ("Remove Item", "phone"),
        ("Close Cart", "orders"),
        ("Close Cart", "orders"),
        ("Reopen Cart", "anna"),
        ("Close Cart", "orders"),
    ]
