"""A cheap load generator: it sends prepared bytes and reads only a status and a length.

`HttpApi` will not do. Its library takes longer for a request than the service does, and both
share the machine's cores, so the benchmark would measure the library.
"""

import random
import re
import selectors
import socket
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

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

    def send(self, request: bytes) -> None:
        self.received = b""
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
    requests: Iterator[bytes],
    *,
    concurrency: int,
    more: Callable[[Sample, float], bool],
    rate: float | None = None,
) -> Sample:
    """Send one request after another while `more` returns true. Any error ends the run.

    Each connection sends its next request when the last one is answered. With a `rate`, so many
    arrive a second instead, at random moments (Poisson), answered or not: an open loop, in which
    a latency includes what a request waits for a free connection.
    """
    sample = Sample()
    free = deque(Connection(port) for _ in range(concurrency))
    waiting: deque[float] = deque()
    # When the request arrived that is on a connection, and how many were answered by then.
    busy: dict[Connection, tuple[float, int]] = {}
    with selectors.DefaultSelector() as selector:
        for connection in free:
            selector.register(connection.socket, selectors.EVENT_READ, connection)
        began = arrival = time.perf_counter()
        going = True
        while going or waiting or busy:
            now = time.perf_counter()
            if going and rate is None:
                waiting.extend([now] * len(free))
            while going and rate is not None and arrival <= now:
                waiting.append(arrival)
                arrival += random.expovariate(rate)
            while waiting and free:
                connection = free.popleft()
                busy[connection] = waiting.popleft(), len(sample.latencies)
                connection.send(next(requests))
            until_next = None if rate is None or not going else max(0, arrival - now)
            for key, _ in selector.select(until_next):
                if key.data.receive() is not None:
                    arrived, answered = busy.pop(key.data)
                    sample.overtaken.append(len(sample.latencies) - answered)
                    sample.latencies.append(time.perf_counter() - arrived)
                    free.append(key.data)
            sample.seconds = time.perf_counter() - began
            going = going and more(sample, sample.seconds)
    for connection in free:
        connection.socket.close()
    return sample
