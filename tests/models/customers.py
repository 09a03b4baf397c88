"""What two customers leave in every table."""

import uuid

from django.test import Client

from carts.models import (
    Cart,
    CartItem,
)
from tests.desk.conftest import delete_page, form_of, item_page
from tests.support import bodies
from tests.support.callers import Api
from tests.support.table_contents import unguarded_rows

# Telephone numbers: what two customers write everywhere.
OWN, OTHER = "491715550123", "4915125550178"


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
    bare = api.post(body=bodies.bare_cart()).json()["data"]["cartId"]
    api.post(f"/{bare}/move", {"profileKey": str(uuid.UUID(int=3))})
    unguarded_rows(Cart).filter(pk=carts[2]).delete()
    cart = Cart.objects.get(pk=carts[3])
    sent = {"version": str(cart.version), "why": name("asked for it")}
    assert desk.post(delete_page(cart), sent).status_code == 302
    # Somebody's session has ended, and so has the patience of who types the password.
    for page in (f"{carts[0]}/change/", f"?q={profile}"):
        address = f"/admin/login/?next=/admin/carts/cart/{page}"
        typed = {"username": "anna", "password": "wrong", "next": f"/admin/carts/cart/{page}"}
        assert Client().post(address, typed).status_code == 200
    return [words, str(profile), *carts, *items]
