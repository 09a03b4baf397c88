"""A cheap load generator: it sends prepared bytes and reads only a status and a length.

`HttpApi` will not do. Its library takes longer for a request than the service does, and both
share the machine's cores, so the benchmark would measure the library.
"""

import itertools
import random
import re
import selectors
import socket
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

OPEN_CONNECTIONS = 64
LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)


@dataclass
class Sample:
    """The measurements of one run."""

    seconds: float = 0.0
    latencies: list[float] = field(default_factory=list)
    # For each request, how many others were answered while it waited.
    overtaken: list[int] = field(default_factory=list)

    @property
    def rate(self) -> float:
        return len(self.latencies) / self.seconds


class Connection:
    """A keep-alive connection with one request at a time."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.received = b""
        self.sent_at = 0.0
        self.sent_after = 0

    def send(self, request: bytes, sent_after: int = 0) -> None:
        self.received = b""
        self.sent_after = sent_after
        self.sent_at = time.perf_counter()
        self.socket.sendall(request)

    def receive(self) -> bytes | None:
        """Return the response's body once it is whole."""
        chunk = self.socket.recv(262_144)
        if not chunk:
            raise RuntimeError(f"The server closed the connection: {self.received[:300]!r}")
        self.received += chunk
        head, separator, body = self.received.partition(b"\r\n\r\n")
        if not separator:
            return None
        length = LENGTH.search(head)
        if length is None or head[9:12] not in {b"200", b"201"}:
            raise RuntimeError(self.received[:2000].decode())
        return body if len(body) == int(length[1]) else None


def request(method: str, path: str, token: str, body: bytes = b"") -> bytes:
    lines = [
        f"{method} {path} HTTP/1.1",
        "Host: localhost",
        f"Authorization: {token}",
        "Accept: */*",
        "User-Agent: bench",
    ]
    if body:
        lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    return "\r\n".join([*lines, "", ""]).encode() + body


def ask(port: int, one_request: bytes) -> bytes:
    connection = Connection(port)
    with connection.socket:
        connection.send(one_request)
        while (body := connection.receive()) is None:
            pass
        return body


def run(
    port: int,
    requests: Iterable[bytes],
    *,
    concurrency: int,
    more: Callable[[Sample, float], bool],
) -> Sample:
    """Send the requests over and over while `more` returns true. Any error ends the run."""
    sample, endless = Sample(), itertools.cycle(requests)
    connections = [Connection(port) for _ in range(concurrency)]
    with selectors.DefaultSelector() as selector:
        for connection in connections:
            selector.register(connection.socket, selectors.EVENT_READ, connection)
        began = time.perf_counter()
        for connection in connections:
            connection.send(next(endless))
        busy = concurrency
        while busy:
            for key, _ in selector.select():
                connection = key.data
                if connection.receive() is None:
                    continue
                now = time.perf_counter()
                sample.overtaken.append(len(sample.latencies) - connection.sent_after)
                sample.latencies.append(now - connection.sent_at)
                sample.seconds = now - began
                if more(sample, now - began):
                    connection.send(next(endless), len(sample.latencies))
                else:
                    busy -= 1
    for connection in connections:
        connection.socket.close()
    return sample


def run_open(port: int, requests: Iterable[bytes], *, rate: float, duration: float) -> Sample:
    """Send `rate` requests a second at random moments (Poisson). Any error ends the run.

    Requests arrive whether the last ones are answered or not. A wait is counted from the arrival,
    so it includes what a request waits for a free connection. All are answered at the end.
    """
    sample, endless = Sample(), itertools.cycle(requests)
    free = deque(Connection(port) for _ in range(OPEN_CONNECTIONS))
    arrived_at: dict[Connection, float] = {}
    waiting: deque[float] = deque()
    with selectors.DefaultSelector() as selector:
        for connection in free:
            selector.register(connection.socket, selectors.EVENT_READ, connection)
        began = time.perf_counter()
        arrival, end = began + random.expovariate(rate), began + duration
        while waiting or arrived_at or arrival < end:
            now = time.perf_counter()
            while arrival <= now and arrival < end:
                waiting.append(arrival)
                arrival += random.expovariate(rate)
            while waiting and free:
                connection = free.popleft()
                arrived_at[connection] = waiting.popleft()
                connection.send(next(endless))
            until_next = max(0.0, arrival - time.perf_counter()) if arrival < end else None
            for key, _ in selector.select(until_next):
                if key.data.receive() is not None:
                    sample.latencies.append(time.perf_counter() - arrived_at.pop(key.data))
                    free.append(key.data)
        sample.seconds = time.perf_counter() - began
    for connection in free:
        connection.socket.close()
    return sample
