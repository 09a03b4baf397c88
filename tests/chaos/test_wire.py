"""Bytes that no well-meaning client sends: always an envelope, never 500, never HTML."""

import json
import socket
import uuid
from contextlib import suppress
from typing import Any

import pytest

from tests.chaos.servers import SIGNING_KEY, Service
from tests.support import bodies
from tests.support.tokens import mint

BODY = json.dumps(bodies.bare_cart()).encode()


def head(method: str = "POST", *headers: str, version: str = "1.1", path: str = "") -> bytes:
    path = path or f"/v2.0/customers/{uuid.uuid4()}/carts"
    lines = [
        f"{method} {path} HTTP/{version}",
        "Host: localhost",
        f"Authorization: Bearer {mint(key=SIGNING_KEY)}",
        "Content-Type: application/json",
        *headers,
    ]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n"


def chunked(*chunks: bytes) -> bytes:
    return head("POST", "Transfer-Encoding: chunked") + b"".join(chunks)


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def exchange(server: Service, sent: bytes, *, close: bool = True) -> list[tuple[int, Any, bytes]]:
    """Send the bytes and return status, body and head of each answer until the end."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as connection:
        connection.sendall(sent)
        if close:
            with suppress(OSError):  # refused and closed by the server already
                connection.shutdown(socket.SHUT_WR)
        received = b""
        while part := connection.recv(65536):
            received += part
    answers = []
    while received:
        answer_head, _, rest = received.partition(b"\r\n\r\n")
        fields = answer_head.lower().split(b"\r\n")
        length = next(int(f.split(b":")[1]) for f in fields if f.startswith(b"content-length"))
        status = int(answer_head.split()[1])
        assert b"content-type: application/json" in fields, answer_head
        assert any(field.startswith(b"x-request-id: ") for field in fields)
        body, received = rest[:length], rest[length:]
        answers.append((status, json.loads(body), answer_head))
    return answers


def status_of(server: Service, sent: bytes) -> int:
    (answer,) = exchange(server, sent)
    status, body, _ = answer
    assert set(body) - {"data"} == {"message", "notifications"}
    return status


LENGTH = f"Content-Length: {len(BODY)}"
LARGE = b" " * (1024 * 1024)

GOOD = {
    "length": head("POST", LENGTH) + BODY,
    "HTTP/1.0": head("POST", LENGTH, version="1.0") + BODY,
    "chunks": chunked(chunk(BODY[:10]), chunk(BODY[10:]), chunk(b"")),
    "chunk extension": chunked(b"%x;a=b\r\n%s\r\n" % (len(BODY), BODY), chunk(b"")),
    "trailer": chunked(chunk(BODY), b"0\r\nX-Trailer: 1\r\n\r\n"),
    "header twice": head("POST", LENGTH, "X-Twice: 1", "X-Twice: 2") + BODY,
}

BAD = {
    "no chunk size": (400, chunked(b"\r\n")),
    "chunk size of letters": (400, chunked(b"zz\r\n{}\r\n0\r\n\r\n")),
    "negative chunk size": (400, chunked(b"-2\r\n{}\r\n0\r\n\r\n")),
    "chunk size with 0x": (400, chunked(b"0x2\r\n{}\r\n0\r\n\r\n")),
    "chunk shorter than said": (400, chunked(b"ff\r\n{}\r\n")),
    "chunk longer than said": (400, chunked(b"1\r\n{}\r\n0\r\n\r\n")),
    "no last chunk": (400, chunked(chunk(BODY))),
    "bare LF between chunks": (400, chunked(b"2\n{}\n0\n\n")),
    "huge chunk size": (400, chunked(b"f" * 16 + b"\r\n{}")),
    "endless chunk size": (400, chunked(b"1" * 20_000)),
    "bad trailer": (400, chunked(chunk(BODY), b"0\r\nno colon\r\n\r\n")),
    "chunks over the limit": (413, chunked(*[chunk(LARGE)] * 2, chunk(b""))),
    "length over the limit": (413, head("POST", "Content-Length: 1048577") + LARGE + b" "),
    "length of 10^30": (413, head("POST", f"Content-Length: {10**30}") + b"{}"),
    "body shorter than its length": (400, head("POST", "Content-Length: 999") + BODY),
    "no body": (400, head("POST")),
    "two lengths": (400, head("POST", LENGTH, "Content-Length: 2") + BODY),
    "length and chunks": (400, head("POST", LENGTH, "Transfer-Encoding: chunked") + BODY),
    "length of letters": (400, head("POST", "Content-Length: ten") + BODY),
    "negative length": (400, head("POST", "Content-Length: -1") + BODY),
    "signed length": (400, head("POST", f"Content-Length: +{len(BODY)}") + BODY),
    "chunked twice": (400, head("POST", "Transfer-Encoding: chunked, chunked") + BODY),
    "chunked, but not at last": (400, head("POST", "Transfer-Encoding: chunked, identity")),
    "unknown transfer coding": (501, head("POST", "Transfer-Encoding: xchunked") + BODY),
    "chunks in HTTP/1.0": (400, head("POST", "Transfer-Encoding: chunked", version="1.0")),
    "folded header": (400, head("POST", LENGTH, "X-A: 1\r\n folded") + BODY),
    "space before the colon": (400, head("POST", "Content-Length : 2") + b"{}"),
    "header without a colon": (400, head("POST", "nothing") + BODY),
    "NUL in a header": (400, head("POST", LENGTH, "X-A: a\0b") + BODY),
    "bare CR in a header": (400, head("POST", LENGTH, "X-A: a\rb") + BODY),
    "huge header": (431, head("POST", LENGTH, f"X-A: {'a' * 70_000}") + BODY),
    "many headers": (431, head("POST", *["X-A: 1"] * 300) + BODY),
    "huge token": (431, head("POST", f"Authorization: Bearer {'a' * 9000}") + BODY),
    "long path": (414, head("GET", path="/v2.0/" + "a" * 9000)),
    "no HTTP": (400, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" * 9 + b"\r\n\r\n"),
    "HTTP/3.0": (400, head("POST", LENGTH, version="3.0") + BODY),
    "expectation": (417, head("POST", LENGTH, "Expect: 200-ok") + BODY),
    "strange Host": (400, head("GET").replace(b"localhost", b"evil.example")),
    "Host twice": (400, head("GET", "Host: evil.example")),
    "path with bytes": (400, head("GET", path="/v2.0/\xff\xfe")),
    "NUL in the path": (404, head("GET", path="/v2.0/%00")),
    "OPTIONS": (405, head("OPTIONS")),
    "TRACE": (405, head("TRACE")),
    "PATCH": (405, head("PATCH", LENGTH) + BODY),
    "unknown method": (405, head("BREW")),
    "underscored header": (401, head("GET").replace(b"Authorization:", b"X_Authorization:")),
    "lower-case underscored": (401, head("GET").replace(b"Authorization", b"http_authorization")),
}


@pytest.mark.parametrize("sent", GOOD.values(), ids=GOOD)
def test_taken(on_sqlite: Service, sent: bytes) -> None:
    assert status_of(on_sqlite, sent) == 200


@pytest.mark.parametrize(("status", "sent"), BAD.values(), ids=BAD)
def test_refused(on_sqlite: Service, status: int, sent: bytes) -> None:
    assert status_of(on_sqlite, sent) == status


def test_head_is_answered_without_a_body(on_sqlite: Service) -> None:
    with socket.create_connection(("127.0.0.1", on_sqlite.port), timeout=10) as connection:
        connection.sendall(head("HEAD", "Connection: close"))
        received = b"".join(iter(lambda: connection.recv(65536), b""))
    assert received.startswith(b"HTTP/1.1 405 ")
    assert received.endswith(b"\r\n\r\n")


def test_pipelined_requests_are_answered_in_turn(on_sqlite: Service) -> None:
    two = head("POST", LENGTH) + BODY + head("BREW", "Connection: close")
    assert [status for status, _, _ in exchange(on_sqlite, two)] == [200, 405]


def test_a_refused_body_is_not_taken_for_the_next_request(on_sqlite: Service) -> None:
    hidden = head("POST", LENGTH) + BODY
    smuggling = head("POST", f"Content-Length: {len(hidden)}", "Content-Encoding: br") + hidden
    statuses = [status for status, _, _ in exchange(on_sqlite, smuggling)]
    assert statuses == [415]


def test_the_body_waits_until_it_is_asked_for(on_sqlite: Service) -> None:
    with socket.create_connection(("127.0.0.1", on_sqlite.port), timeout=10) as connection:
        connection.sendall(head("POST", LENGTH, "Expect: 100-continue", "Connection: close"))
        assert connection.recv(1000) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(BODY)
        assert connection.recv(1000).startswith(b"HTTP/1.1 200 OK")
