"""The headers that describe a body: Content-Type and Content-Encoding."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.support import bodies
from tests.support.answers import error
from tests.support.callers import Api

BODY = json.dumps(bodies.cart())


def send(api: Api, body: bytes | str, content_type: str | None, **headers: Any) -> Any:
    """Post a body as it is. If the type is None, send no Content-Type header."""
    extra: dict[str, Any] = {f"HTTP_{name.upper()}": value for name, value in headers.items()}
    response: Any = api.client.generic(
        "POST", api.base, body, content_type=content_type or "", **extra
    )
    return response


@pytest.mark.parametrize(
    "media_type",
    [
        "application/json",
        "APPLICATION/JSON",
        "application/json; charset=utf-8",
        "application/json;charset=UTF-8",
        'application/json; charset="utf-8"',
        "application/json; charset=utf8",
        "application/json; version=2",
        "application/json;",
    ],
)
def test_takes_json_in_utf_8(api: Api, media_type: str) -> None:
    assert send(api, BODY, media_type).status_code == 200


@pytest.mark.parametrize(
    "media_type",
    [
        None,
        "text/plain",
        "text/json",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/xml",
        "application/vnd.api+json",
        "application/problem+json",
        "application/json, application/json",
        "application/*",
        "application",
        "application/json; charset=latin-1",
        "application/json; charset=utf-16",
        "application/json; charset=",
        "application/json; charset=nonsense",
        "application/json; charset=\u00e9",
    ],
)
def test_refuses_another_media_type(
    api: Api, unchanged: Callable[[], None], media_type: str | None
) -> None:
    response = send(api, BODY, media_type)

    assert response.status_code == 415
    assert response.json() == error(
        "unsupported_media_type",
        "The body must be sent as application/json in UTF-8.",
        "Content-Type",
    )


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "identity", "gzip, gzip", "", "x"])
def test_refuses_every_content_encoding(
    api: Api, unchanged: Callable[[], None], coding: str
) -> None:
    response = send(api, BODY, "application/json", content_encoding=coding)

    assert response.status_code == 415
    assert response.json() == error(
        "unsupported_media_type",
        "The body must be sent without a Content-Encoding.",
        "Content-Encoding",
    )
