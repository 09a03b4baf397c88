"""A valid request of each operation."""

from typing import Any

from tests.support import bodies
from tests.support.callers import STRANGER, Api, Caller

REQUESTS: dict[str, tuple[str, str, Any]] = {
    "create": ("POST", "", bodies.cart()),
    "list": ("GET", "", None),
    "get": ("GET", "/{cart}", None),
    "change cart": ("PATCH", "/{cart}", {"note": "x"}),
    "delete": ("DELETE", "/{cart}", None),
    "add": ("POST", "/{cart}/items", bodies.item(displayName="Gelato", quantity=4)),
    "update": ("PUT", "/{cart}/items/{item}", bodies.item(displayName="Burger", quantity=5)),
    "change item": ("PATCH", "/{cart}/items/{item}", {"quantity": 7}),
    "remove": ("DELETE", "/{cart}/items/{item}", None),
    "add several": ("POST", "/{cart}/items/batch", {"items": [bodies.item(), bodies.item()]}),
    "replace all": ("PUT", "/{cart}/items", {"items": [bodies.item(displayName="Fries")]}),
    "close": ("POST", "/{cart}/close", {"outcome": "checkout", "reference": "payment-1"}),
    "move": ("POST", "/{cart}/move", {"profileKey": str(STRANGER)}),
    "reopen": ("POST", "/{cart}/reopen", {"reference": "payment-1"}),
}
# What Change Cart takes.
CART_CHANGES = (
    "platform",
    "orderingChannel",
    "fulfilmentChannel",
    "note",
    "specialInstructions",
)
READS = ["list", "get"]
ON_A_CART = [name for name, (_, path, _) in REQUESTS.items() if path]
ON_AN_ITEM = [name for name, (_, path, _) in REQUESTS.items() if "{item}" in path]
# Reopen Cart changes nothing of an open cart.
CHANGES = [name for name in ON_A_CART if name not in {"get", "reopen"}]
WITH_A_BODY = [name for name, (_, _, body) in REQUESTS.items() if body]


def send(
    api: Caller, name: str, cart: str = "", item: str = "", body: Any = None, **headers: str
) -> Any:
    """Send the request, with this body if there is one."""
    method, path, usual = REQUESTS[name]
    body = usual if body is None else body
    return api.request(method, path.format(cart=cart, item=item), body, **headers)


def after(name: str, api: Api) -> Api:
    """Return a caller for the customer who has the cart after the request."""
    return Api(STRANGER) if name == "move" else api
