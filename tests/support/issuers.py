"""Whose tokens the service believes, and an issuer that publishes its keys over HTTP."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from django.test import override_settings

from cartsvc.api.authentication import token_backend


@contextmanager
def verified_with(**values: Any) -> Iterator[None]:
    """Verify tokens with these JWT settings (ALGORITHM, VERIFYING_KEY, ISSUER, ...)."""
    with override_settings(**{f"JWT_{name}": value for name, value in values.items()}):
        token_backend.cache_clear()
        try:
            yield
        finally:
            token_backend.cache_clear()


class Issuer:
    """A real server that publishes `keys`, or answers the bytes of `raw`; counts who asks."""

    def __init__(self, *keys: dict[str, Any]) -> None:
        self.keys = list(keys)
        self.raw: bytes | None = None
        self.asked = 0
        issuer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                issuer.asked += 1
                if issuer.raw is not None:
                    self.wfile.write(issuer.raw)
                    return
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.end_headers()
                self.wfile.write(json.dumps({"keys": issuer.keys}).encode())

            def log_message(self, *args: object) -> None:
                """Keep quiet."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/jwks"


@contextmanager
def published(*keys: dict[str, Any]) -> Iterator[Issuer]:
    """Run an issuer of these keys, whose RS256 tokens the service believes meanwhile."""
    issuer = Issuer(*keys)
    thread = threading.Thread(target=issuer.server.serve_forever, args=[0.02])
    thread.start()
    try:
        with verified_with(ALGORITHM="RS256", JWK_URL=issuer.url):
            yield issuer
    finally:
        issuer.server.shutdown()
        thread.join()
        issuer.server.server_close()
