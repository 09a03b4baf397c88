"""Every operation with its path, as declared, and a valid request of each."""

import re
from typing import Any, NamedTuple

from carts.urls import urlpatterns
from cartsvc.api.operation import OPERATIONS, Operation
from tests.support import bodies
from tests.support.callers import STRANGER, Api, Caller

# A valid body of each operation that takes one.
BODIES: dict[str, Any] = {
    "Create Cart": bodies.cart(),
    "Change Cart": {"note": "x"},
    "Add Item": bodies.item(displayName="Gelato", quantity=4),
    "Update Item": bodies.item(displayName="Burger", quantity=5),
    "Change Item": {"quantity": 7},
    "Add Items": {"items": [bodies.item(), bodies.item()]},
    "Replace Items": {"items": [bodies.item(displayName="Fries")]},
    "Close Cart": {"outcome": "checkout", "reference": "payment-1"},
    "Move Cart": {"profileKey": str(STRANGER)},
    "Reopen Cart": {"reference": "payment-1"},
}
CARTS = "/v2.0/customers/{profileKey}/carts"


class Request(NamedTuple):
    operation: Operation
    method: str
    path: str
    body: Any


def with_keys(route: str) -> str:
    """Return the path of a route, with the keys as the document names them."""
    path = re.sub(r"<guid:(\w+)>", r"{\1}", route)
    return "/" + re.sub("_key|_id", lambda word: word[0][1:].capitalize(), path)


FOUND = {
    operation.name: Request(
        operation,
        method.upper(),
        with_keys(pattern.pattern._route),
        BODIES[operation.name] if operation.body else None,
    )
    for pattern in urlpatterns
    for method, action in getattr(pattern.callback, "actions", {}).items()
    for operation in [getattr(pattern.callback.cls, action).operation]
}
REQUESTS = {operation.name: FOUND[operation.name] for operation in OPERATIONS}
# What Change Cart takes.
CART_CHANGES = (
    "platform",
    "orderingChannel",
    "fulfilmentChannel",
    "note",
    "specialInstructions",
)
OF_A_CUSTOMER = [name for name, one in REQUESTS.items() if "{profileKey}" in one.path]
READS = [name for name in OF_A_CUSTOMER if REQUESTS[name].method == "GET"]
ON_A_CART = [name for name, one in REQUESTS.items() if "{cartId}" in one.path]
ON_AN_ITEM = [name for name, one in REQUESTS.items() if "{itemId}" in one.path]
# Reopen Cart changes nothing of an open cart.
CHANGES = [name for name in ON_A_CART if name not in {*READS, "Reopen Cart"}]
# What takes an item or the cart away comes after what needs it, in this order.
LAST = ["Remove Item", "Replace Items", "Close Cart", "Reopen Cart", "Move Cart", "Delete Cart"]
IN_TURN = sorted([*CHANGES, "Reopen Cart"], key=lambda name: name in LAST and 1 + LAST.index(name))
# What a name that is ignored would let do more than was asked: end, move, replace, list.
NARROWING = {
    "List Carts",
    "List Changes",
    "Replace Items",
    "Close Cart",
    "Reopen Cart",
    "Move Cart",
}
WITH_A_BODY = [name for name, one in REQUESTS.items() if one.operation.body]


def send(
    api: Caller, name: str, cart: str = "", item: str = "", body: Any = None, **headers: str
) -> Any:
    """Send the request about the caller's customer, with this body if there is one."""
    request = REQUESTS[name]
    path = request.path.removeprefix(CARTS).format(cartId=cart, itemId=item)
    return api.request(request.method, path, request.body if body is None else body, **headers)


def after(name: str, api: Api) -> Api:
    """Return a caller for the customer who has the cart after the request."""
    return Api(STRANGER) if name == "Move Cart" else api
