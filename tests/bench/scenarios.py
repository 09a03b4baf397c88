"""The requests that every server gets, and the check that it answers them correctly."""

import json
import uuid
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from tests.bench import client
from tests.bench.servers import Server
from tests.support import bodies

# Updates and reads take turns over this many carts, so that callers do not wait for each other.
PROFILES, CARTS_OF_A_PROFILE = 10, 20
LARGE_CARTS = 20

NAMES = [
    "create empty",
    "create 3x2",
    "create 50x5",
    "replace, 2 options",
    "replace, 10 options",
    "read 3x2",
    "read 50x5",
    "list 20",
]


def prepare(server: Server, names: Iterable[str]) -> dict[str, list[bytes]]:
    """Return the requests of each scenario. Create the carts that they read or change."""
    profiles = [uuid.uuid4() for _ in range(PROFILES)]
    paths = [
        made(server, profile, items=3, options=2)
        for _ in range(CARTS_OF_A_PROFILE)
        for profile in profiles
    ]
    large = [made(server, uuid.uuid4(), items=50, options=5) for _ in range(LARGE_CARTS)]
    items = [f"{path}/items/{fetch(server, path)['items'][0]['itemId']}" for path in paths]
    requests = {
        "create empty": create(server, items=0, options=0),
        "create 3x2": create(server, items=3, options=2),
        "create 50x5": create(server, items=50, options=5),
        "replace, 2 options": replace(server, items, options=2),
        "replace, 10 options": replace(server, items, options=10),
        "read 3x2": read(server, paths),
        "read 50x5": read(server, large),
        "list 20": read(server, map(carts_path, profiles)),
    }
    return {name: requests[name] for name in names}


def create(server: Server, *, items: int, options: int) -> list[bytes]:
    """Return requests of a hundred customers."""
    body = encoded(bodies.cart(items=items, options=options))
    lists = [carts_path(uuid.uuid4()) for _ in range(100)]
    return [client.request("POST", path, server.token, body) for path in lists]


def replace(server: Server, items: list[str], *, options: int) -> list[bytes]:
    return [
        client.request("PUT", path, server.token, encoded(body))
        for first in range(0, len(items), 50)
        for body in replacements(options=options)
        for path in items[first : first + 50]
    ]


def replacements(*, options: int) -> list[Any]:
    """Return two items to be sent in turn. They have no option in common, with a cart or at all."""
    items = [bodies.item(options=options, displayName=name) for name in ("Calzone", "Diavolo")]
    for number, item in enumerate(items, start=1):
        for option in item["options"]:
            option["optionSetKey"] += number
    return items


def read(server: Server, paths: Iterable[str]) -> list[bytes]:
    return [client.request("GET", path, server.token) for path in paths]


def encoded(body: Any) -> bytes:
    return json.dumps(body).encode()


def carts_path(profile: uuid.UUID) -> str:
    return f"/v2.0/customers/{profile}/carts"


def fetch(server: Server, path: str, method: str = "GET", body: Any = None) -> Any:
    sent = b"" if body is None else encoded(body)
    answer = client.ask(server.port, client.request(method, path, server.token, sent))
    answer = json.loads(answer, parse_float=Decimal)
    return answer.get("data", answer)


def made(server: Server, profile: uuid.UUID, *, items: int, options: int) -> str:
    """Create a cart and return its path."""
    carts = carts_path(profile)
    cart = fetch(server, carts, "POST", bodies.cart(items=items, options=options))
    return f"{carts}/{cart['cartId']}"


def verify(server: Server) -> None:
    """Check the server's answers, and fail if one is wrong."""
    profile = uuid.uuid4()
    for items, options in (0, 0), (3, 2), (50, 5):
        path = made(server, profile, items=items, options=options)
        expect(server, fetch(server, path), bodies.cart(items=items, options=options))
    for options in 2, 10, 0:
        path = made(server, profile, items=3, options=2)
        item_id = fetch(server, path)["items"][1]["itemId"]
        changed = bodies.item(options=options, displayName="Calzone")
        fetch(server, f"{path}/items/{item_id}", "PUT", changed)
        cart = bodies.cart(items=3, options=2)
        cart["items"][1] = changed
        expect(server, fetch(server, path), cart)
    listed = fetch(server, carts_path(profile))
    found = len(listed.get("carts", listed.get("results")))
    if found != 6:
        raise SystemExit(f"{server.name} lists {found} carts, not 6.")


def expect(server: Server, shown: Any, sent: Any) -> None:
    if plain(shown, sent) != plain(sent, sent):
        raise SystemExit(f"{server.name} shows {shown} for {sent}.")


def plain(value: Any, like: Any) -> Any:
    """Return the members of `value` that `like` has, too, with prices in one notation."""
    if isinstance(like, dict):
        return {name: plain(value[name], inner) for name, inner in like.items()}
    if isinstance(like, list):
        return [plain(*pair) for pair in zip(value, like, strict=True)]
    if isinstance(like, float):
        return Decimal(str(value)).normalize()
    return value
