"""What gunicorn refuses by itself, because it is no HTTP: answered with an envelope, too."""

import socket
import uuid

from gunicorn.util import write_nonblock

from cartsvc.api.envelope import Problem, failure_text

TEXTS = {
    414: "The address of the request is too long.",
    431: "The headers of the request are too large.",
    500: "Something went wrong on our side.",
}


def write_envelope(connection: socket.socket, status: int, reason: str, _message: str) -> None:
    """Write the answer in the place of gunicorn's own page.

    gunicorn's message quotes what was sent, so it is not repeated.
    """
    text = TEXTS.get(status, "The request is not acceptable HTTP.")
    code = "internal_error" if status == 500 else "invalid_header"
    body = failure_text([Problem(code, text)]).encode()
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
