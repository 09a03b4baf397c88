"""What one caller may send to keep the service from the others: named attacks."""

import json
import random
import secrets
import socket
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from tests.bench import load_generator
from tests.machines.servers import connected
from tests.support import bodies
from tests.support.tokens import mint


@dataclass
class Target:
    """Where the service is, whose token the attackers have, and what was made for them.

    `signing` is what signs a token: its algorithm, key and headers.
    """

    port: int
    signing: dict[str, Any]
    certificate: str = ""
    profile: uuid.UUID = field(default_factory=uuid.uuid4)
    largest: str = ""
    hot: str = ""
    session: str = ""
    metrics_port: int = 0

    @property
    def carts(self) -> str:
        return f"/v2.0/customers/{self.profile}/carts"

    @cached_property
    def token(self) -> str:
        return mint(**self.signing)

    def connect(self, **how: Any) -> socket.socket:
        return connected(self.port, self.certificate, **how)

    def request(self, method: str, path: str, body: Any = b"", *headers: str) -> bytes:
        """Return a request with a good token."""
        written = body if isinstance(body, bytes) else json.dumps(body).encode()
        sent = load_generator.request(method, path, f"Bearer {self.token}", written)
        head, separator, body = sent.partition(b"\r\n\r\n")
        return head + "".join(f"\r\n{line}" for line in headers).encode() + separator + body

    def get(self, path: str = "", *headers: str) -> bytes:
        return self.request("GET", f"{self.carts}{path}", b"", *headers)

    def post(self, body: Any, *headers: str) -> bytes:
        return self.request("POST", self.carts, body, *headers)

    def changes(self) -> bytes:
        """Return a back end's request for the oldest changes that are kept."""
        signing = {**self.signing, "scope": "Cart.Read Cart.AnyProfile"}
        return replace(self, signing=signing).request("GET", "/v2.0/changes?after=0")

    def put(self, *headers: str) -> bytes:
        """Return a request that replaces the hot item."""
        return self.request("PUT", f"{self.carts}/{self.hot}", bodies.item(), *headers)

    def at_desk(self, path: str) -> bytes:
        """Return a request of a member of staff."""
        return self.request("GET", path, b"", f"Cookie: sessionid={self.session}")


@dataclass(frozen=True)
class Attack:
    """What each attacker sends, endlessly: the same bytes, or other ones each time if `anew`.

    `holds` is how many connections each of them leaves open unread in place of that.
    `metrics` is for the port of the metrics, in place of the service's. `issuer` is for a service
    with RS256, keys by address and an issuer that drips.
    """

    make: Callable[[Target], bytes]
    anew: bool = False
    holds: int = 0
    metrics: bool = False
    issuer: bool = False

    def requests(self, target: Target) -> Iterator[bytes]:
        sent = self.make(target)
        while True:
            yield sent
            sent = self.make(target) if self.anew else sent


def sign_in(target: Target) -> bytes:
    """A new name from a new address each time, with a CSRF pair that is good."""
    token = secrets.token_hex(16)
    form = f"username={uuid.uuid4()}&password=wrong&csrfmiddlewaretoken={token}".encode()
    sent = target.request(
        "POST",
        "/admin/login/",
        form,
        f"Cookie: csrftoken={token}",
        "Referer: https://localhost/admin/login/",  # Django asks for it where HTTPS is
        "X-Forwarded-For: " + ".".join(str(secrets.randbelow(250) + 1) for _ in range(4)),
    )
    return sent.replace(b"application/json", b"application/x-www-form-urlencoded")


def unknown_kid(target: Target) -> bytes:
    other = {"headers": {"kid": str(uuid.uuid4())}}
    return replace(target, signing={**target.signing, **other}).get()


def forged(target: Target) -> bytes:
    """A token of the known key's name, its signature wrong in the last bytes."""
    end = target.token[-8:].encode()
    return target.get().replace(end, end.swapcase())


def stalled(target: Target) -> bytes:
    """A body of which half arrives."""
    return target.post(bodies.cart())[:-100]


def stalled_or_read(target: Target) -> bytes:
    return random.choice([stalled(target), target.get(f"/{target.largest}")])


def chunks(target: Target) -> bytes:
    """256 KiB of a body, a byte a chunk."""
    head = target.post(b"", "Content-Type: application/json", "Transfer-Encoding: chunked")
    return head + b"1\r\n \r\n" * 256 * 1024 + b"0\r\n\r\n"


def padded(value: Any) -> bytes:
    """Return a cart of which a member of no meaning has this value."""
    return json.dumps({**bodies.bare_cart(), "x": "VALUE"}).encode().replace(b'"VALUE"', value)


def new_key() -> str:
    return f"Idempotency-Key: {uuid.uuid4()}"


RETURN = "Prefer: return=representation"
BAD = bodies.bare_cart(items=[{"options": [{}] * 100}] * 500)
LARGE = bodies.cart(items=500, options=10)
# A customer of 20,000 carts.
MANY = uuid.UUID(int=20_000)
# The cart that costs most to show: all texts of it are as long as they may be.
LARGEST = bodies.cart(
    items=[
        bodies.item(
            displayName="é" * 100,
            specialInstructions="i" * 300,
            options=[bodies.option(displayName="o" * 100)] * 4,
        )
    ]
    * 500,
    note="n" * 300,
    specialInstructions="i" * 300,
)
UNKNOWN = {**bodies.bare_cart(), **{f"member{number}": 1 for number in range(58_000)}}
DIGITS = bodies.bare_cart(
    items=[{**dict.fromkeys(bodies.item(), int("9" * 300)), "options": []} for _ in range(380)]
)
SEMICOLONS = '"' + ";" * 8000 + '"'
# As large as they may be: longer ones are refused before they are read.
HEADERS = [f"X-{number}: {'a' * 7900}" for number in range(4)]

ATTACKS = {
    "bad bodies, 500 items of 100 empty options": Attack(lambda to: to.post(BAD)),
    "lawful bodies, 500 items of 10 options": Attack(lambda to: to.post(LARGE)),
    "lawful bodies of 64 KB": Attack(lambda to: to.post(bodies.cart(items=48, options=10))),
    "1 MiB of unknown members": Attack(lambda to: to.post(UNKNOWN)),
    "numbers of 300 digits": Attack(lambda to: to.post(DIGITS)),
    "sign-ins, each a new name and address": Attack(sign_in, anew=True),
    "lists of 100 of the largest carts": Attack(lambda to: to.get("?limit=100")),
    "lists of 100 of a customer's 20,000 carts by change": Attack(
        lambda to: replace(to, profile=MANY).get("?sort=modified&limit=100")
    ),
    "pages of 100 changes": Attack(lambda to: to.changes()),
    "reads of the largest cart": Attack(lambda to: to.get(f"/{to.largest}")),
    "changes that prefer the largest cart back": Attack(
        lambda to: to.request(
            "PATCH", f"{to.carts}/{to.largest}", {"note": "n" * 300}, RETURN, new_key()
        ),
        anew=True,
    ),
    "slow readers, 16 of the largest cart": Attack(lambda to: to.get(f"/{to.largest}"), holds=2),
    "stalled heads, 64": Attack(lambda to: b"GET /healthz HTTP/1.1\r\nHost: loc", holds=8),
    "stalled bodies, 64": Attack(stalled, holds=8),
    "stalled bodies, and reads of the largest cart": Attack(stalled_or_read, anew=True, holds=8),
    "/readyz": Attack(lambda to: to.request("GET", "/readyz")),
    "the metrics' port": Attack(lambda to: b"GET /metrics HTTP/1.0\r\n\r\n", metrics=True),
    "the desk's list of the largest carts": Attack(lambda to: to.at_desk("/admin/carts/cart/")),
    "carts with new idempotency keys": Attack(
        lambda to: to.post(bodies.bare_cart(), new_key()), anew=True
    ),
    "one hot item, replaced by eight": Attack(lambda to: to.put()),
    "100,000 nested arrays": Attack(lambda to: to.post(padded(b"[" * 10**5 + b"]" * 10**5))),
    "32 KB of headers": Attack(lambda to: to.get("", *HEADERS)),
    "forged RS256 tokens": Attack(forged, issuer=True),
    "unknown keys at an issuer that drips": Attack(unknown_kid, anew=True, issuer=True),
    "a path of 1 MB": Attack(lambda to: to.request("GET", "/" + "a" * 10**6)),
    "1,000 query parameters": Attack(lambda to: to.get("?" + "&a=b" * 1000)),
    "60,000 decimals such as 1e-999999": Attack(
        lambda to: to.post(padded(b"[" + b"1e-999999," * 60_000 + b"0]"))
    ),
    "100,000 times the same member": Attack(
        lambda to: to.post(b"{" + b'"note":1,' * 10**5 + b'"note":1}')
    ),
    "256 KiB of one-byte chunks": Attack(chunks),
    "a connection for each request": Attack(lambda to: to.get("", "Connection: close")),
    "desk search with %00 and 8,000 characters": Attack(
        lambda to: to.at_desk(f"/admin/carts/cart/?q=%00{'a' * 8000}")
    ),
    "a sign-in page with a next of 8,000 percent signs": Attack(
        lambda to: to.request("GET", f"/admin/login/?next={'%' * 8000}")
    ),
    "a Prefer of 8,000 commas, without a token": Attack(
        lambda to: to.post(b"", f"Prefer: {',' * 8000}").replace(b"Bearer", b"Basic")
    ),
    "a Content-Type of 8 KB of semicolons": Attack(
        lambda to: to.request(
            "GET", "/nothing", b"", f"Content-Type: application/json;{SEMICOLONS}"
        )
    ),
    "a cookie of 8 KB of backslashes": Attack(
        lambda to: to.request("GET", "/admin/login/", b"", 'Cookie: a="' + "\\" * 8000 + '"')
    ),
    "If-Match of 1,000 bytes, which is lawful": Attack(
        lambda to: to.put("If-Match: " + ", ".join(['"9"'] * 200))
    ),
    "1 MiB of UTF-16": Attack(lambda to: to.post(("\ufeff" + " " * 520_000).encode("utf-16"))),
}
