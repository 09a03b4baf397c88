"""Callers of the API with the same methods: `Api` in process, `HttpApi` over HTTP.

A header is an argument with underscores for its dashes: `If_Match='"1"'`.
"""

import json
import uuid
from contextlib import nullcontext
from typing import Any

import requests
from django.test import Client
from django.test.client import ClientHandler

from cartsvc.api.middleware import SanitizedHeaders
from tests.support.tokens import mint

PROFILE = uuid.UUID("0f8fad5b-d9cb-469f-a165-70867728950e")
STRANGER = uuid.UUID("7c9e6679-7425-40de-944b-e07fc1f90ae7")


class Caller:
    """A client with a token, which calls the API for one profile."""

    base: str

    def request(self, method: str, path: str = "", body: Any = None, **headers: str) -> Any:
        """Send the body, as JSON unless it is text or bytes. Return the transport's response."""
        raise NotImplementedError

    def post(self, path: str = "", body: Any = None, **headers: str) -> Any:
        return self.request("POST", path, body, **headers)

    def put(self, path: str, body: Any = None, **headers: str) -> Any:
        return self.request("PUT", path, body, **headers)

    def patch(self, path: str, body: Any = None, **headers: str) -> Any:
        return self.request("PATCH", path, body, **headers)

    def get(self, path: str = "", **headers: str) -> Any:
        return self.request("GET", path, **headers)

    def delete(self, path: str, **headers: str) -> Any:
        return self.request("DELETE", path, **headers)


class Application(ClientHandler):
    """The handler of Django's client, behind what stands before Django in `cartsvc.wsgi`."""

    def __call__(self, environ: dict[str, Any]) -> Any:
        django: Any = super().__call__
        return SanitizedHeaders(lambda environ, _: django(environ))(environ, None)


class Api(Caller):
    """A caller in process. Without a token, it mints one with these claims."""

    def __init__(
        self, profile: uuid.UUID = PROFILE, *, token: str | None = None, **claims: Any
    ) -> None:
        token = mint(**claims) if token is None else token
        self.client = Client(headers={"Authorization": f"Bearer {token}"})
        self.client.handler = Application()
        self.base = f"/v2.0/customers/{profile}/carts"

    def request(self, method: str, path: str = "", body: Any = None, **headers: str) -> Any:
        content: dict[str, Any] = {}
        if body is not None:
            kind = headers.pop("Content_Type", "application/json")
            content = {"data": written(body), "content_type": kind}
        return self.client.generic(
            method, f"{self.base}{path}", **content, headers=with_dashes(headers)
        )


class HttpApi(Caller):
    """A caller over HTTP, which threads may share.

    `kept=False` opens a new connection for each request. A test with a server in its own
    process needs that, because a kept connection keeps the test's database in use.
    """

    def __init__(
        self,
        url: str,
        profile: uuid.UUID = PROFILE,
        *,
        key: str | None = None,
        kept: bool = True,
        **claims: Any,
    ) -> None:
        self.base = f"{url}/v2.0/customers/{profile}/carts"
        self.token = mint(key=key, **claims)
        self.verify: bool | str = True
        self.timeout = 60.0
        self.session = requests.Session() if kept else None

    def request(self, method: str, path: str = "", body: Any = None, **headers: str) -> Any:
        sent = {"Authorization": f"Bearer {self.token}", **with_dashes(headers)}
        if body is not None:
            sent.setdefault("Content-Type", "application/json")
        with nullcontext(self.session) if self.session else requests.Session() as session:
            session.trust_env = False
            return session.request(
                method,
                f"{self.base}{path}",
                data=None if body is None else written(body),
                headers=sent if self.session else {**sent, "Connection": "close"},
                timeout=self.timeout,
                verify=self.verify,
            )


def written(body: Any) -> str | bytes:
    return body if isinstance(body, str | bytes) else json.dumps(body)


def with_dashes(headers: dict[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in headers.items()}
