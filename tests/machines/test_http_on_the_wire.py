"""Odd and malformed bytes, sent to the server itself and through nginx: never 5xx, never HTML.

Each is answered with an envelope, save what the server itself refuses: that gets a status without
a body.
"""

import json
import re
import socket
import uuid
from http.client import HTTPResponse

import pytest

from cartsvc.request_errors import API_ERRORS
from tests.machines.proxies import Proxy
from tests.machines.servers import SIGNING_KEY, Service
from tests.support import bodies
from tests.support.tokens import mint

BODY = json.dumps(bodies.bare_cart()).encode()


def head(method: str = "POST", *headers: str, path: str = "", token: str = "") -> bytes:
    path = path or f"/v2.0/customers/{uuid.uuid4()}/carts"
    lines = [
        f"{method} {path} HTTP/1.1",
        "Host: localhost",
        f"Authorization: Bearer {token or mint(key=SIGNING_KEY)}",
        "Content-Type: application/json",
        "Connection: close",
        "X-Forwarded-Proto: https",  # the server believes it, and nginx says it by itself
        *headers,
    ]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n"


def kept_alive(sent: bytes) -> bytes:
    return sent.replace(b"Connection: close\r\n", b"")


def chunked(*chunks: bytes) -> bytes:
    return head("POST", "Transfer-Encoding: chunked") + b"".join(chunks)


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def to(server: Service, sent: bytes) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", server.port), timeout=60)
    connection.sendall(sent)
    return connection


def answer_on(connection: socket.socket) -> int | str:
    """Return the code of the error that comes back in an envelope. If there is none, the status.

    What the server refuses by itself has no body.
    """
    with connection:
        answer = HTTPResponse(connection)
        answer.begin()
        body = answer.read()
    headers = {name.lower(): value for name, value in answer.getheaders()}
    if not body:
        assert headers["connection"] == "close"
        return answer.status
    assert headers["content-type"] == "application/json"
    assert headers["cache-control"] == "no-store"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-request-id"]
    envelope = json.loads(body)
    assert envelope.keys() - {"data"} == {"message", "notifications"}
    code: str | None = envelope["notifications"][0]["code"]
    if code is None:
        return answer.status
    error = API_ERRORS[code]
    assert answer.status == error.status
    assert headers.get("retry-after") == ("1" if error.retry else None)
    return code


LENGTH = f"Content-Length: {len(BODY)}"
LARGE = b" " * (256 * 1024)
STRANGE = head("GET").replace(b"localhost", b"evil.example")

# What the server itself and nginx answer to which bytes.
ANSWERED: dict[tuple[int | str, int | str | None], dict[str, bytes]] = {
    (200, 200): {
        "HTTP/1.0": head("POST", LENGTH).replace(b"HTTP/1.1", b"HTTP/1.0") + BODY,
        "chunks": chunked(chunk(BODY[:10]), chunk(BODY[10:]), chunk(b"")),
        "another path": head("GET", "SCRIPT_NAME: /v2.0", "Script-Name: /v2", "Path-Info: /admin/"),
    },
    ("malformed_json", "malformed_http"): {
        "chunk size of letters": chunked(b"zz\r\n{}\r\n0\r\n\r\n"),
        "chunk longer than said": chunked(b"1\r\n{}\r\n0\r\n\r\n"),
        "endless chunk size": chunked(b"1" * 20_000),
        "length and chunks": head("POST", LENGTH, "Transfer-Encoding: chunked") + BODY,
    },
    ("payload_too_large", "payload_too_large"): {
        "chunks over the limit": chunked(*[chunk(LARGE)] * 2, chunk(b"")),
        "length over the limit": head("POST", "Content-Length: 262145") + LARGE + b" ",
    },
    ("invalid_header", "malformed_http"): {
        "Host twice": head("GET", "Host: evil.example"),
        "no Host": STRANGE.replace(b"Host: evil.example\r\n", b""),
    },
    ("invalid_header", "invalid_header"): {"strange Host": STRANGE},
    ("not_authenticated", "not_authenticated"): {
        "underscored header": head("GET").replace(b"Authorization", b"http_authorization"),
    },
    ("method_not_allowed", "method_not_allowed"): {"TRACE": head("TRACE")},
    ("not_found", "not_found"): {"a page of nginx's own": head(path="/.nginx/unavailable")},
    ("not_found", "malformed_http"): {"NUL in the path": head("GET", path="/v2.0/%00")},
    ("uri_too_long", "uri_too_long"): {"long path": head("GET", path="/" + "a" * 9000)},
    ("headers_too_large", "headers_too_large"): {
        "large header": head("GET", f"X-A: {'a' * 9000}"),
        "many large headers": head("GET", *[f"X-A: {'a' * 8000}"] * 5),
    },
    # Of these, Django never learns.
    (400, "malformed_http"): {
        "two lengths": head("POST", LENGTH, "Content-Length: 2") + BODY,
        "unknown transfer coding": head("POST", "Transfer-Encoding: xchunked") + BODY,
        "folded header": head("POST", LENGTH, "X-A: 1\r\n folded") + BODY,
        "NUL in a header": head("POST", LENGTH, "X-A: a\0b") + BODY,
        "angle bracket": head("GET", path="/v2.0/<script>"),
        "no HTTP": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" * 9 + b"\r\n\r\n",
    },
    # Nor of this, which nginx passes on, and whose answer it leaves as it is.
    (431, 431): {"many small headers": head("GET", *["X-A: 1"] * 101)},
    # nginx closes the connection before it has read all of these.
    (414, None): {"huge path": head("GET", path="/v2.0/" + "a" * 70_000)},
    (431, None): {"huge header": head("GET", f"X-A: {'a' * 200_000}")},
}


@pytest.mark.parametrize(
    ("sent", "direct", "by_nginx"),
    [
        pytest.param(sent, *answers, id=name)
        for answers, group in ANSWERED.items()
        for name, sent in group.items()
    ],
)
def test_what_is_answered(
    proxy: Proxy, sent: bytes, direct: int | str, by_nginx: int | str | None
) -> None:
    assert answer_on(to(proxy.server, sent)) == direct
    if by_nginx:
        assert answer_on(proxy.raw(sent)) == by_nginx


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        (chunked(b"f" * 16 + b"\r\n{}"), "required"),
        (head("POST", "Content-Length: 999") + BODY, "malformed_json"),
    ],
    ids=["huge chunk size", "body shorter than its length"],
)
def test_half_a_body_is_refused(proxy: Proxy, sent: bytes, code: str) -> None:
    """The caller closes the connection in the middle of it."""
    connection = to(proxy.server, sent)
    connection.shutdown(socket.SHUT_WR)
    assert answer_on(connection) == code


def test_a_refused_body_is_not_taken_for_the_next_request(proxy: Proxy) -> None:
    hidden = head("POST", LENGTH) + BODY
    smuggling = kept_alive(head("POST", f"Content-Length: {len(hidden)}", "Content-Encoding: br"))
    with to(proxy.server, smuggling + hidden + head("BREW")) as connection:
        received = b"".join(iter(lambda: connection.recv(65536), b""))
    statuses = re.findall(rb"^HTTP/1.1 (\d+)", received, re.MULTILINE)
    assert statuses in ([b"415"], [b"415", b"405"])


def test_a_connection_that_ends_with_an_answer_is_said_to_end(proxy: Proxy) -> None:
    """The server closes it if a body was not read, which is a race for who sends on."""
    closes = {
        "read": head("POST", LENGTH) + BODY,
        "no body": head("GET"),
        "no token": head("POST", LENGTH).replace(b"Bearer", b"Basic") + BODY,
        "not looked at": head("GET", LENGTH) + BODY,
        "no such path": head("POST", LENGTH, path="/v2.0/nowhere") + BODY,
        "too large": head("POST", "Content-Length: 999999") + BODY,
    }
    found = {}
    for name, sent in closes.items():
        with to(proxy.server, kept_alive(sent)) as connection:
            answer = HTTPResponse(connection)
            answer.begin()
            answer.read()
            found[name] = answer.getheader("Connection") == "close"
    assert found == {name: name not in {"read", "no body"} for name in closes}
