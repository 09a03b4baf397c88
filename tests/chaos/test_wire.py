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


def head(method: str = "POST", *headers: str, path: str = "", token: str = "") -> bytes:
    path = path or f"/v2.0/customers/{uuid.uuid4()}/carts"
    lines = [
        f"{method} {path} HTTP/1.1",
        "Host: localhost",
        f"Authorization: Bearer {token or mint(key=SIGNING_KEY)}",
        "Content-Type: application/json",
        "Connection: close",
        *headers,
    ]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n"


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
        received = b"".join(iter(lambda: connection.recv(65536), b""))
    answers = []
    while received:
        answer_head, _, rest = received.partition(b"\r\n\r\n")
        fields = answer_head.lower().split(b"\r\n")
        length = next(int(f.split(b":")[1]) for f in fields if f.startswith(b"content-length"))
        answers.append((int(answer_head.split()[1]), rest[:length], answer_head.lower()))
        received = rest[length:]
    return answers


LENGTH = f"Content-Length: {len(BODY)}"
LARGE = b" " * (256 * 1024)

ANSWERED = {
    "HTTP/1.0": (200, head("POST", LENGTH).replace(b"HTTP/1.1", b"HTTP/1.0") + BODY),
    "chunks": (200, chunked(chunk(BODY[:10]), chunk(BODY[10:]), chunk(b""))),
    "chunk extension": (200, chunked(b"%x;a=b\r\n%s\r\n" % (len(BODY), BODY), chunk(b""))),
    "trailer": (200, chunked(chunk(BODY), b"0\r\nX-Trailer: 1\r\n\r\n")),
    "another path": (200, head("POST", LENGTH, "SCRIPT_NAME: /v2.0", "Script-Name: /v2") + BODY),
    "chunk size of letters": (400, chunked(b"zz\r\n{}\r\n0\r\n\r\n")),
    "chunk longer than said": (400, chunked(b"1\r\n{}\r\n0\r\n\r\n")),
    "endless chunk size": (400, chunked(b"1" * 20_000)),
    "chunks over the limit": (413, chunked(*[chunk(LARGE)] * 2, chunk(b""))),
    "length over the limit": (413, head("POST", "Content-Length: 262145") + LARGE + b" "),
    "length and chunks": (400, head("POST", LENGTH, "Transfer-Encoding: chunked") + BODY),
    "Host twice": (400, head("GET", "Host: evil.example")),
    "no Host": (400, head("GET").replace(b"Host: localhost\r\n", b"")),
    "NUL in the path": (404, head("GET", path="/v2.0/%00")),
    "underscored header": (401, head("GET").replace(b"Authorization", b"http_authorization")),
}

# A caller that closes the connection in the middle of a body.
BROKEN_OFF = {
    "huge chunk size": chunked(b"f" * 16 + b"\r\n{}"),
    "body shorter than its length": head("POST", "Content-Length: 999") + BODY,
}

# Requests that never reach Django.
REFUSED = {
    "two lengths": (400, head("POST", LENGTH, "Content-Length: 2") + BODY),
    "unknown transfer coding": (400, head("POST", "Transfer-Encoding: xchunked") + BODY),
    "folded header": (400, head("POST", LENGTH, "X-A: 1\r\n folded") + BODY),
    "NUL in a header": (400, head("POST", LENGTH, "X-A: a\0b") + BODY),
    "huge header": (431, head("POST", LENGTH, f"X-A: {'a' * 200_000}") + BODY),
    "huge path": (414, head("GET", path="/v2.0/" + "a" * 70_000)),
    "no HTTP": (400, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" * 9 + b"\r\n\r\n"),
}


def status_of(server: Service, sent: bytes, **how: bool) -> int:
    """Return the status of the only answer, and check that it is an envelope."""
    (answer,) = exchange(server, sent, **how)
    status, body, answer_head = answer
    assert b"content-type: application/json" in answer_head
    assert b"x-request-id: " in answer_head
    assert set(json.loads(body)) - {"data"} == {"message", "notifications"}
    return status


@pytest.mark.parametrize(("status", "sent"), ANSWERED.values(), ids=ANSWERED)
def test_answered_with_an_envelope(on_sqlite: Service, status: int, sent: bytes) -> None:
    assert status_of(on_sqlite, sent) == status


@pytest.mark.parametrize("sent", BROKEN_OFF.values(), ids=BROKEN_OFF)
def test_half_a_body_is_refused(on_sqlite: Service, sent: bytes) -> None:
    assert status_of(on_sqlite, sent, half_closed=True) == 400


@pytest.mark.parametrize(("status", "sent"), REFUSED.values(), ids=REFUSED)
def test_refused_by_the_server(on_sqlite: Service, status: int, sent: bytes) -> None:
    (answer,) = exchange(on_sqlite, sent)
    assert answer[:2] == (status, b"")
    assert b"connection: close" in answer[2]


def test_a_refused_body_is_not_taken_for_the_next_request(on_sqlite: Service) -> None:
    hidden = head("POST", LENGTH) + BODY
    smuggling = kept(head("POST", f"Content-Length: {len(hidden)}", "Content-Encoding: br"))
    two = smuggling + hidden + head("BREW")
    statuses = [status for status, _, _ in exchange(on_sqlite, two)]
    assert statuses in ([415], [415, 405])
