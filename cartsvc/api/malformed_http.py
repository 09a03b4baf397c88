"""What gunicorn refuses by itself, because it is no HTTP: answered with an envelope, too."""

import socket
import uuid

from gunicorn.util import write_nonblock

from cartsvc.api.envelope import failure_text
from cartsvc.api.problems import INTERNAL_ERROR, INVALID_HEADER

TEXTS = {
    414: "The address of the request is too long.",
    431: "The headers of the request are too large.",
}


def write_envelope(connection: socket.socket, status: int, reason: str, _message: str) -> None:
    """Write the answer in the place of gunicorn's own page.

    gunicorn's message quotes what was sent, so it is not repeated.
    """
    problem = (
        INTERNAL_ERROR.problem()
        if status == INTERNAL_ERROR.status
        else INVALID_HEADER.problem(TEXTS.get(status, "The request is not acceptable HTTP."))
    )
    body = failure_text([problem]).encode()
    head = (
        f"HTTP/1.1 {status} {reason}\r\n"
        "Connection: close\r\n"
        "Content-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n"
        f"X-Request-ID: {uuid.uuid4().hex}\r\n"
        "Cache-Control: no-store\r\n"
        "X-Content-Type-Options: nosniff\r\n"
        "\r\n"
    )
    write_nonblock(connection, head.encode() + body)
