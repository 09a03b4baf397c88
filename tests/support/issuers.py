"""The settings that verify tokens, and an issuer that publishes its keys over HTTP."""

import json
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, cast

from django.test import override_settings

from cartsvc.identity.bearer_tokens import token_backend
from cartsvc.identity.issuer_keys import IssuerKeys


@contextmanager
def verified_with(**values: Any) -> Iterator[None]:
    """Run the block with these JWT settings, such as ALGORITHM, VERIFYING_KEY or ISSUER."""
    with override_settings(**{f"JWT_{name}": value for name, value in values.items()}):
        token_backend.cache_clear()
        try:
            yield
        finally:
            token_backend.cache_clear()


class Issuer:
    """A real HTTP server that publishes `keys`, or sends the bytes of `raw` if that is set.

    `asked` counts the requests. While `answering` is not set, requests wait, for 30 seconds at
    most. With a `pause` the server waits that many seconds after each byte.
    """

    def __init__(self, *keys: dict[str, Any]) -> None:
        self.keys = list(keys)
        self.raw: bytes | None = None
        self.pause = 0.0
        self.answering = threading.Event()
        self.answering.set()
        self.asked = 0
        issuer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                issuer.asked += 1
                issuer.answering.wait(30)
                answer = issuer.raw
                if answer is None:
                    head = b"HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n"
                    answer = head + json.dumps({"keys": issuer.keys}).encode()
                with suppress(ConnectionError):
                    if not issuer.pause:
                        self.wfile.write(answer)
                        return
                    for byte in answer:
                        self.wfile.write(bytes([byte]))
                        time.sleep(issuer.pause)

            def log_message(self, *args: object) -> None:
                """Keep quiet."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/jwks"

    def encrypt(self, folder: Path) -> None:
        """Serve HTTPS from now on, with the certificate for localhost in the folder."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder / "certificate.pem", folder / "key.pem")
        self.server.socket = context.wrap_socket(
            self.server.socket, server_side=True, do_handshake_on_connect=False
        )
        self.url = f"https://localhost:{self.server.server_port}/jwks"


@contextmanager
def running(*keys: dict[str, Any]) -> Iterator[Issuer]:
    """Run an issuer that publishes these keys."""
    issuer = Issuer(*keys)
    thread = threading.Thread(target=issuer.server.serve_forever, args=[0.02])
    thread.start()
    try:
        yield issuer
    finally:
        issuer.server.shutdown()
        thread.join()
        issuer.server.server_close()


def fetch_keys() -> bool:
    """Fetch the issuer's keys, as a worker does when it starts. Return whether it has them."""
    return cast("IssuerKeys", token_backend().jwks_client).fetch()
