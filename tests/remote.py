"""Callers of a real server, each in a thread and with a connection of its own."""

import json
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from decimal import Decimal
from http.client import HTTPConnection
from typing import Any

from tests.conftest import PROFILE, make_token


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: Any

    @property
    def data(self) -> Any:
        return self.body["data"]


class Remote:
    """Calls the server under test over HTTP."""

    def __init__(self, netloc: str) -> None:
        self.netloc = netloc
        self.headers = {
            "Authorization": f"Bearer {make_token()}",
            "Content-Type": "application/json",
        }

    def request(self, method: str, path: str = "", body: Any = None, **headers: str) -> Answer:
        connection = HTTPConnection(self.netloc, timeout=30)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        try:
            connection.request(
                method,
                f"/v2.0/customers/{PROFILE}/carts{path}",
                None if body is None else json.dumps(body),
                self.headers | named,
            )
            response = connection.getresponse()
            content = json.loads(response.read(), parse_float=Decimal)
            return Answer(response.status, dict(response.getheaders()), content)
        finally:
            connection.close()

    def create(self, body: Any) -> str:
        answer = self.request("POST", "", body)
        assert answer.status == 200, answer
        cart_id: str = answer.data["cartId"]
        return cart_id

    def read(self, cart_id: str) -> dict[str, Any]:
        answer = self.request("GET", f"/{cart_id}")
        assert answer.status == 200, answer
        data: dict[str, Any] = answer.data
        return data


def at_once(calls: Iterable[Callable[[], Any]]) -> list[Any]:
    """Call all of them in a thread each, started together; return what they return."""
    calls = list(calls)
    start = threading.Barrier(len(calls))

    def run(call: Callable[[], Any]) -> Any:
        start.wait()
        return call()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls))
