"""Malformed bytes sent to the server without nginx: never 500, never HTML.

A request that reaches Django is answered with an envelope. A request that the server refuses
gets a status without a body. tests/chaos/test_nginx.py shows that nginx turns it into an
envelope.
"""

import json
import socket
import uuid

import pytest

from tests.chaos.servers import SIGNING_KEY, Service
from tests.support import bodies
from tests.support.tokens import mint

BODY = json.dumps(bodies.bare_cart()).encode()


def head(
    method: str = "POST", *headers: str, version: str = "1.1", path: str = "", token: str = ""
) -> bytes:
    path = path or f"/v2.0/customers/{uuid.uuid4()}/carts"
    lines = [
        f"{method} {path} HTTP/{version}",
        "Host: localhost",
        f"Authorization: Bearer {token or mint(key=SIGNING_KEY)}",
        "Content-Type: application/json",
        "Connection: close",
        *headers,
    ]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n"


def change(*headers: str) -> bytes:
    """Return a request that adds an item to a cart that does not exist."""
    path = f"/v2.0/customers/{uuid.uuid4()}/carts/{uuid.uuid4()}/items"
    item = json.dumps(bodies.item()).encode()
    return head("POST", f"Content-Length: {len(item)}", *headers, path=path) + item


def kept(sent: bytes) -> bytes:
    return sent.replace(b"Connection: close\r\n", b"")


def chunked(*chunks: bytes) -> bytes:
    return head("POST", "Transfer-Encoding: chunked") + b"".join(chunks)


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def exchange(
    server: Service, sent: bytes, *, half_closed: bool = False
) -> list[tuple[int, bytes, bytes]]:
    """Send the bytes. Return the status, body and head of each answer until the end."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as connection:
        connection.sendall(sent)
        if half_closed:
            connection.shutdown(socket.SHUT_WR)
        received = b""
        while part := connection.recv(65536):
            received += part
    answers = []
    while received:
        answer_head, _, rest = received.partition(b"\r\n\r\n")
        fields = answer_head.lower().split(b"\r\n")
        length = next(int(f.split(b":")[1]) for f in fields if f.startswith(b"content-length"))
        answers.append((int(answer_head.split()[1]), rest[:length], answer_head.lower()))
        received = rest[length:]
    return answers


def status_of(server: Service, sent: bytes, **how: bool) -> int:
    """Return the status of the only answer, and check that it is an envelope."""
    (answer,) = exchange(server, sent, **how)
    status, body, answer_head = answer
    assert b"content-type: application/json" in answer_head
    assert b"x-request-id: " in answer_head
    assert set(json.loads(body)) - {"data"} == {"message", "notifications"}
    return status


LENGTH = f"Content-Length: {len(BODY)}"
LARGE = b" " * (256 * 1024)

GOOD = {
    "length": head("POST", LENGTH) + BODY,
    "HTTP/1.0": head("POST", LENGTH, version="1.0") + BODY,
    "chunks": chunked(chunk(BODY[:10]), chunk(BODY[10:]), chunk(b"")),
    "chunk extension": chunked(b"%x;a=b\r\n%s\r\n" % (len(BODY), BODY), chunk(b"")),
    "trailer": chunked(chunk(BODY), b"0\r\nX-Trailer: 1\r\n\r\n"),
    "another path": head("POST", LENGTH, "SCRIPT_NAME: /v2.0", "Script-Name: /v2.0") + BODY,
    "header twice": head("POST", LENGTH, "X-Twice: 1", "X-Twice: 2") + BODY,
    "expectation of its own": head("POST", LENGTH, "Expect: 200-ok") + BODY,
}

BAD = {
    "no chunk size": (400, chunked(b"\r\n")),
    "chunk size of letters": (400, chunked(b"zz\r\n{}\r\n0\r\n\r\n")),
    "negative chunk size": (400, chunked(b"-2\r\n{}\r\n0\r\n\r\n")),
    "chunk size with 0x": (400, chunked(b"0x2\r\n{}\r\n0\r\n\r\n")),
    "chunk longer than said": (400, chunked(b"1\r\n{}\r\n0\r\n\r\n")),
    "bare LF between chunks": (400, chunked(b"2\n{}\n0\n\n")),
    "endless chunk size": (400, chunked(b"1" * 20_000)),
    "chunks over the limit": (413, chunked(*[chunk(LARGE)] * 2, chunk(b""))),
    "length over the limit": (413, head("POST", "Content-Length: 262145") + LARGE + b" "),
    "no body": (400, head("POST")),
    "length and chunks": (400, head("POST", LENGTH, "Transfer-Encoding: chunked") + BODY),
    "chunked twice": (400, head("POST", "Transfer-Encoding: chunked, chunked") + BODY),
    "long token": (401, head("POST", f"Authorization: Bearer {'a' * 9000}") + BODY),
    "long path": (404, head("GET", path="/v2.0/" + "a" * 9000)),
    "strange Host": (400, head("GET").replace(b"localhost", b"evil.example")),
    "Host twice": (400, head("GET", "Host: evil.example")),
    "no Host": (400, head("GET").replace(b"Host: localhost\r\n", b"")),
    "NUL in the path": (404, head("GET", path="/v2.0/%00")),
    "half an escape in the path": (404, head("GET", path="/v2.0/%")),
    "OPTIONS": (405, head("OPTIONS")),
    "TRACE": (405, head("TRACE")),
    "PATCH": (405, head("PATCH", LENGTH) + BODY),
    "unknown method": (405, head("BREW")),
    "If-Match that is not ASCII": (400, change('If-Match: "\xe9"')),
    "Idempotency-Key that is not ASCII": (
        400,
        head("POST", LENGTH, "Idempotency-Key: \xe9") + BODY,
    ),
    "underscored header": (401, head("GET").replace(b"Authorization:", b"X_Authorization:")),
    "lower-case underscored": (401, head("GET").replace(b"Authorization", b"http_authorization")),
}

# A caller that closes the connection in the middle of a body.
BROKEN_OFF = {
    "chunk shorter than said": chunked(b"ff\r\n{}\r\n"),
    "huge chunk size": chunked(b"f" * 16 + b"\r\n{}"),
    "body shorter than its length": head("POST", "Content-Length: 999") + BODY,
}

# Requests that never reach Django.
REFUSED = {
    "length of 10^30": (400, head("POST", f"Content-Length: {10**30}") + b"{}"),
    "two lengths": (400, head("POST", LENGTH, "Content-Length: 2") + BODY),
    "length of letters": (400, head("POST", "Content-Length: ten") + BODY),
    "negative length": (400, head("POST", "Content-Length: -1") + BODY),
    "signed length": (400, head("POST", f"Content-Length: +{len(BODY)}") + BODY),
    "chunked, but not at last": (400, head("POST", "Transfer-Encoding: chunked, identity")),
    "unknown transfer coding": (400, head("POST", "Transfer-Encoding: xchunked") + BODY),
    "chunks in HTTP/1.0": (400, head("POST", "Transfer-Encoding: chunked", version="1.0")),
    "folded header": (400, head("POST", LENGTH, "X-A: 1\r\n folded") + BODY),
    "space before the colon": (400, head("POST", "Content-Length : 2") + b"{}"),
    "header without a colon": (400, head("POST", "nothing") + BODY),
    "NUL in a header": (400, head("POST", LENGTH, "X-A: a\0b") + BODY),
    "bare CR in a header": (400, head("POST", LENGTH, "X-A: a\rb") + BODY),
    "huge header": (431, head("POST", LENGTH, f"X-A: {'a' * 200_000}") + BODY),
    "many headers": (431, head("POST", *["X-A: 1"] * 300) + BODY),
    "huge path": (414, head("GET", path="/v2.0/" + "a" * 70_000)),
    "no HTTP": (400, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" * 9 + b"\r\n\r\n"),
    "HTTP/3.0": (400, head("POST", LENGTH, version="3.0") + BODY),
    "path with bytes": (400, head("GET", path="/v2.0/\xff\xfe")),
}


@pytest.mark.parametrize("sent", GOOD.values(), ids=GOOD)
def test_taken(on_sqlite: Service, sent: bytes) -> None:
    assert status_of(on_sqlite, sent) == 200


@pytest.mark.parametrize(("status", "sent"), BAD.values(), ids=BAD)
def test_refused_with_an_envelope(on_sqlite: Service, status: int, sent: bytes) -> None:
    assert status_of(on_sqlite, sent) == status


@pytest.mark.parametrize("sent", BROKEN_OFF.values(), ids=BROKEN_OFF)
def test_half_a_body_is_refused(on_sqlite: Service, sent: bytes) -> None:
    assert status_of(on_sqlite, sent, half_closed=True) == 400


@pytest.mark.parametrize(("status", "sent"), REFUSED.values(), ids=REFUSED)
def test_refused_by_the_server(on_sqlite: Service, status: int, sent: bytes) -> None:
    (answer,) = exchange(on_sqlite, sent)
    assert answer[:2] == (status, b"")
    assert b"connection: close" in answer[2]


def test_head_is_answered_without_a_body(on_sqlite: Service) -> None:
    with socket.create_connection(("127.0.0.1", on_sqlite.port), timeout=10) as connection:
        connection.sendall(head("HEAD"))
        received = b"".join(iter(lambda: connection.recv(65536), b""))
    assert received.startswith(b"HTTP/1.1 200 ")
    assert received.endswith(b"\r\n\r\n")


def test_pipelined_requests_are_answered_in_turn(on_sqlite: Service) -> None:
    two = kept(head("POST", LENGTH)) + BODY + head("BREW")
    assert [status for status, _, _ in exchange(on_sqlite, two)] == [200, 405]


def test_a_refused_body_is_not_taken_for_the_next_request(on_sqlite: Service) -> None:
    hidden = head("POST", LENGTH) + BODY
    smuggling = kept(head("POST", f"Content-Length: {len(hidden)}", "Content-Encoding: br"))
    two = smuggling + hidden + head("BREW")
    statuses = [status for status, _, _ in exchange(on_sqlite, two)]
    assert statuses in ([415], [415, 405])


def test_the_body_waits_until_it_is_asked_for(on_sqlite: Service) -> None:
    with socket.create_connection(("127.0.0.1", on_sqlite.port), timeout=10) as connection:
        connection.sendall(head("POST", LENGTH, "Expect: 100-continue"))
        assert connection.recv(1000) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(BODY)
        assert connection.recv(1000).startswith(b"HTTP/1.1 200 OK")
