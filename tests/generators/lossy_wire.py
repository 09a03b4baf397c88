"""A wire between a client and the service, which loses some requests and some answers."""

import threading
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import cycle
from urllib.parse import urlsplit

# Of ten requests three are lost: on their way, or their answers on the way back.
LOSING = ["passes", "no request", "passes", "no answer", "passes", "passes", "no answer"]
LOSING += ["passes"] * 3


class Wire(ThreadingHTTPServer):
    """Passes requests on, save those that are lost, and counts those that it has passed on."""

    daemon_threads = True

    def __init__(self, service: str, fates: Iterable[str]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.service, self.fates = urlsplit(service).netloc, cycle(fates)
        self.passed = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: Wire

    def handle_one_request(self) -> None:
        self.close_connection = True
        self.raw_requestline = self.rfile.readline()
        if not self.raw_requestline or not self.parse_request():
            return
        wire, fate = self.server, next(self.server.fates)
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if fate == "no request":
            return
        with closing(HTTPConnection(wire.service, timeout=60)) as service:
            headers = {**self.headers, "Connection": "close"}
            service.request(self.command, self.path, body, headers)
            answer = service.getresponse()
            content = answer.read()
        wire.passed += 1
        if fate == "no answer":
            return
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name not in {"Connection", "Date", "Server"}:
                self.send_header(name, value)
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (its name there)
        """Write nothing to stderr."""


@contextmanager
def wire(service: str, fates: Iterable[str] = ("passes",)) -> Iterator[Wire]:
    with Wire(service, fates) as opened:
        thread = threading.Thread(target=opened.serve_forever)
        thread.start()
        try:
            yield opened
        finally:
            opened.shutdown()
            thread.join()
