"""What the WSGI application keeps from Django, which would read it before any middleware."""

import json
from http import HTTPStatus
from typing import Any
from unittest.mock import Mock

import pytest
from django.test import RequestFactory

from cartsvc.wsgi import application
from tests.support.answers import error
from tests.support.callers import Api

pytestmark = pytest.mark.django_db

JSON = "application/json"
FORM = "application/x-www-form-urlencoded"


def answer(method: str, path: str, **environ: Any) -> tuple[int, bytes]:
    asked = {**RequestFactory().get(path).environ, "REQUEST_METHOD": method, **environ}
    start = Mock()
    body = b"".join(application(asked, start))
    return int(start.call_args.args[0][:3]), body


@pytest.mark.parametrize("charset", ["hex", "zlib", "rot13", "undefined", "idna", "utf-16"])
def test_a_charset_is_not_used_on_the_query(charset: str) -> None:
    for media in (JSON, FORM, "multipart/form-data; boundary=x"):
        sent = {"CONTENT_TYPE": f"{media}; charset={charset}"}
        status, body = answer("GET", "/v2.0/nothing?a=1", **sent)
        assert (status, json.loads(body)["notifications"][0]["code"]) == (404, "not_found")
        assert answer("GET", "/healthz?a=1", **sent)[0] == HTTPStatus.OK
        assert answer("POST", "/admin/login/?a=1", **sent)[0] == HTTPStatus.FORBIDDEN  # no CSRF


def test_a_query_of_too_many_parameters_is_refused(api: Api) -> None:
    sent = {"HTTP_AUTHORIZATION": api.client.defaults["HTTP_AUTHORIZATION"]}
    for content_type in ("", JSON, f"{JSON}; charset=utf-8"):
        status, body = answer("GET", f"{api.base}?{'&' * 1_000}", CONTENT_TYPE=content_type, **sent)
        assert status == HTTPStatus.BAD_REQUEST
        assert json.loads(body) == error("invalid_parameter", "The query has too many parameters.")


@pytest.mark.parametrize("path", ["/", "/docs/", "/static/", "/admin", "/admin/login/"])
def test_a_multipart_form_is_not_read(path: str) -> None:
    status, _ = answer(
        "POST",
        path,
        CONTENT_TYPE="multipart/form-data",
        CONTENT_LENGTH="0",
        HTTP_COOKIE="csrftoken=" + "a" * 32,
    )
    assert status < HTTPStatus.INTERNAL_SERVER_ERROR


def test_cookies_with_escapes_are_left_out() -> None:
    status, _ = answer("GET", "/admin/", HTTP_COOKIE=r'sessionid="\000aaaaaaaaaaaaaaa"')
    assert status == HTTPStatus.FOUND
