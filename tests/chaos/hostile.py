"""What one caller may send to keep the service from the others: named attacks."""

import itertools
import json
import secrets
import socket
import ssl
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from tests.bench.client import request
from tests.support import bodies
from tests.support.tokens import mint

Requests = Callable[["Target"], Iterator[bytes]]


@dataclass
class Target:
    """Where the service is, whose token the attackers have, and what was made for them.

    `signing` is what signs a token: its algorithm, key and headers.
    """

    port: int
    signing: dict[str, Any]
    certificate: str = ""
    host: str = "localhost"
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
        return self.signed()

    def signed(self, **headers: str) -> str:
        signing = {**self.signing, "headers": {**self.signing.get("headers", {}), **headers}}
        return f"Bearer {mint(**signing)}"

    @property
    def metrics(self) -> "Target":
        return replace(self, port=self.metrics_port, certificate="")

    def connect(self, *, receive: int = 0) -> socket.socket:
        """Connect, through TLS if there is a certificate; `receive` is a buffer's bytes."""
        plain = socket.socket()
        plain.settimeout(30)
        if receive:
            plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive)
            plain.bind(("127.0.0.2", 0))  # nginx limits what an address has under way
        plain.connect(("127.0.0.1", self.port))
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if not self.certificate:
            return plain
        context = ssl.create_default_context(cafile=self.certificate)
        return context.wrap_socket(plain, server_hostname=self.host)

    def request(self, method: str, path: str, body: bytes = b"", *headers: str) -> bytes:
        """Return a request with a good token."""
        sent = request(method, path, self.token, body)
        return with_headers(sent, *headers, host=self.host)


def with_headers(sent: bytes, *headers: str, host: str = "localhost") -> bytes:
    head, separator, body = sent.partition(b"\r\n\r\n")
    head = head.replace(b"Host: localhost", f"Host: {host}".encode(), 1)
    return head + "".join(f"\r\n{header}" for header in headers).encode() + separator + body


@dataclass(frozen=True)
class Attack:
    """What each attacker sends, endlessly.

    `holds` is how many connections each of them leaves open unread in place of that.
    `metrics` is for the port of the metrics, in place of the service's. `issuer` is for a service
    with RS256, keys by address and an issuer that drips.
    """

    requests: Requests
    holds: int = 0
    keeps: bool = True
    metrics: bool = False
    issuer: bool = False


def same(method: str, path: str = "{carts}", body: Any = b"", *headers: str) -> Requests:
    """One request over and over, made once."""
    written = body if isinstance(body, bytes) else json.dumps(body).encode()

    def requests(target: Target) -> Iterator[bytes]:
        shown = path.format(carts=target.carts, largest=target.largest, hot=target.hot)
        return itertools.repeat(target.request(method, shown, written, *headers))

    return requests


def each(make: Callable[[Target], bytes]) -> Requests:
    """Another request each time."""

    def requests(target: Target) -> Iterator[bytes]:
        while True:
            yield make(target)

    return requests


def bare(sent: bytes) -> Requests:
    return lambda _target: itertools.repeat(sent)


def sign_in(target: Target) -> bytes:
    """A new name from a new address each time, with a CSRF pair that is good."""
    token = secrets.token_hex(16)
    form = f"username={uuid.uuid4()}&password=wrong&csrfmiddlewaretoken={token}".encode()
    address = ".".join(str(secrets.randbelow(250) + 1) for _ in range(4))
    lines = [
        "POST /admin/login/ HTTP/1.1",
        f"Host: {target.host}",
        f"Cookie: csrftoken={token}",
        f"Referer: https://{target.host}/admin/login/",  # Django asks for it where HTTPS is
        f"X-Forwarded-For: {address}",
        "Content-Type: application/x-www-form-urlencoded",
        f"Content-Length: {len(form)}",
    ]
    return "\r\n".join([*lines, "", ""]).encode() + form


def at_desk(path: str) -> Requests:
    """A page of the desk, for a member of staff."""

    def requests(target: Target) -> Iterator[bytes]:
        lines = [
            f"GET {path} HTTP/1.1",
            f"Host: {target.host}",
            f"Cookie: sessionid={target.session}",
        ]
        return itertools.repeat("\r\n".join([*lines, "", ""]).encode())

    return requests


def with_key(target: Target) -> bytes:
    body = json.dumps(bodies.bare_cart()).encode()
    return target.request("POST", target.carts, body, f"Idempotency-Key: {uuid.uuid4()}")


def unknown_kid(target: Target) -> bytes:
    token = target.signed(kid=str(uuid.uuid4()))
    return request("GET", target.carts, token)


def forged(target: Target) -> Iterator[bytes]:
    """A token of the known key's name, its signature wrong in the last bytes."""
    head, _, signature = target.token.rpartition(".")
    turned = signature[:-8] + signature[-8:].swapcase()
    return itertools.repeat(request("GET", target.carts, f"{head}.{turned}"))


def stalled(target: Target) -> Iterator[bytes]:
    """A body of which half arrives."""
    whole = target.request("POST", target.carts, json.dumps(bodies.cart()).encode())
    return itertools.repeat(whole[: len(whole) - 100])


def stalled_or_read(target: Target) -> Iterator[bytes]:
    """By turns a body of which half arrives, and a read of the largest cart."""
    read = target.request("GET", f"{target.carts}/{target.largest}")
    return itertools.cycle([next(stalled(target)), read])


def chunks(target: Target) -> Iterator[bytes]:
    """256 KiB of a body, a byte a chunk."""
    head = target.request("POST", target.carts, b"", "Content-Type: application/json")
    body = b"1\r\n \r\n" * 256 * 1024 + b"0\r\n\r\n"
    return itertools.repeat(with_headers(head, "Transfer-Encoding: chunked") + body)


def padded(value: Any) -> bytes:
    """Return a cart of which a member of no meaning has this value."""
    return json.dumps({**bodies.bare_cart(), "x": "VALUE"}).encode().replace(b'"VALUE"', value)


BAD = bodies.bare_cart(items=[{"options": [{}] * 100}] * 500)
LARGE = bodies.cart(items=500, options=10)
UNKNOWN = {**bodies.bare_cart(), **{f"member{number}": 1 for number in range(58_000)}}
DIGITS = bodies.bare_cart(
    items=[{**dict.fromkeys(bodies.item(), int("9" * 300)), "options": []} for _ in range(380)]
)
HEADERS = [f"X-{number}: {'a' * 8000}" for number in range(7)]
METRICS = b"GET /metrics HTTP/1.0\r\n\r\n"

ATTACKS = {
    "bad bodies, 500 items of 100 empty options": Attack(same("POST", "{carts}", BAD)),
    "lawful bodies, 500 items of 10 options": Attack(same("POST", "{carts}", LARGE)),
    "1 MiB of unknown members": Attack(same("POST", "{carts}", UNKNOWN)),
    "numbers of 300 digits": Attack(same("POST", "{carts}", DIGITS)),
    "sign-ins, each a new name and address": Attack(each(sign_in)),
    "lists of 100 of the largest carts": Attack(same("GET", "{carts}?limit=100")),
    "reads of the largest cart": Attack(same("GET", "{carts}/{largest}")),
    "slow readers, 16 of the largest cart": Attack(same("GET", "{carts}/{largest}"), holds=2),
    "stalled heads, 64": Attack(bare(b"GET /healthz HTTP/1.1\r\nHost: loc"), holds=8),
    "stalled bodies, 64": Attack(stalled, holds=8),
    "stalled bodies, and reads of the largest cart": Attack(stalled_or_read, holds=8),
    "/readyz": Attack(same("GET", "/readyz")),
    "the metrics' port": Attack(bare(METRICS), keeps=False, metrics=True),
    "the desk's list of the largest carts": Attack(at_desk("/admin/carts/cart/")),
    "carts with new idempotency keys": Attack(each(with_key)),
    "one hot item, replaced by eight": Attack(same("PUT", "{carts}/{hot}", bodies.item())),
    "100,000 nested arrays": Attack(same("POST", "{carts}", padded(b"[" * 10**5 + b"]" * 10**5))),
    "56 KB of headers": Attack(same("GET", "{carts}", b"", *HEADERS)),
    "forged RS256 tokens": Attack(forged, issuer=True),
    "unknown keys at an issuer that drips": Attack(each(unknown_kid), issuer=True),
    "a path of 1 MB": Attack(same("GET", "/" + "a" * 10**6), keeps=False),
    "10,000 query parameters": Attack(same("GET", "{carts}?" + "&a=b" * 10_000)),
    "60,000 decimals such as 1e-999999": Attack(
        same("POST", "{carts}", padded(b"[" + b"1e-999999," * 60_000 + b"0]"))
    ),
    "100,000 times the same member": Attack(
        same("POST", "{carts}", b"{" + b'"note":1,' * 10**5 + b'"note":1}')
    ),
    "256 KiB of one-byte chunks": Attack(chunks),
    "a connection for each request": Attack(same("GET"), keeps=False),
    "desk search with %00 and 10,000 characters": Attack(
        at_desk(f"/admin/carts/cart/?q=%00{'a' * 10_000}")
    ),
    "a Content-Type of 8 KB of semicolons": Attack(
        same("GET", "/nothing", b"", f'Content-Type: application/json;"{";" * 8000}')
    ),
    "a cookie of 30 KB of backslashes": Attack(
        same("GET", "/admin/login/", b"", 'Cookie: a="' + "\\" * 30_000 + '"')
    ),
    "If-Match of 1,000 bytes, which is lawful": Attack(
        same("PUT", "{carts}/{hot}", bodies.item(), "If-Match: " + ", ".join(['"9"'] * 200))
    ),
    "1 MiB of UTF-16": Attack(same("POST", "{carts}", ("\ufeff" + " " * 520_000).encode("utf-16"))),
}
