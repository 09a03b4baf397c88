import io
import json
from bisect import bisect
from typing import Any

import pytest

from carts.models import Cart
from tests.support import bodies
from tests.support.answers import assert_refused, errors_of
from tests.support.callers import Api
from tests.support.table_contents import Unchanged

BODY = json.dumps(bodies.cart())


def with_member(text: str) -> str:
    return f"{BODY[:-1]}, {text}}}"


def nested(depth: int) -> str:
    return with_member('"x": ' + "[" * depth + "]" * depth)


@pytest.mark.parametrize(
    "body",
    [
        "",
        " \n",
        "{",
        "nonsense",
        BODY + BODY,
        BODY + "\0",
        BODY.replace('"', "'"),
        with_member(""),
        *(
            with_member(f'"x": {literal}')
            for literal in (
                *("01", "0x1F", "\u0661", "undefined", '"tab\t"', "1 // why"),
                *("NaN", "Infinity", "-Infinity", "1e309", "1.5E+309", "1e99999999999999999999"),
                *("9" * 4_301, "-" + "9" * 4_301, "9" * 310 + ".5"),
            )
        ),
        with_member('"currency": "EUR"'),
        with_member('"x": {"y": 1, "y": 1}'),
        with_member('"x": 1, "\\u0078": 1'),
        nested(100_000),
        with_member('"x": ' + '{"x":' * 40_000 + "1" + "}" * 40_000),
        "[" * 200_000,
        b"\xff\xfe" + BODY.encode("utf-16-le"),
        BODY.encode("utf-16"),
        b'{"x": "\xff"}',
        b'{"x": "\xf0\x9f\x8d"}',
        b'{"x": "\xed\xa0\x80"}',
        b'{"x": "\xc0\xaf"}',
        b"\xef\xbb\xbf\xef\xbb\xbf" + BODY.encode(),
        b"\x1f\x8b\x08",
    ],
    ids=lambda body: repr(body[-40:]),
)
def test_refuses_what_is_not_json(api: Api, unchanged: Unchanged, body: str | bytes) -> None:
    # The test client sends no Content-Type with an empty body.
    response: Any = api.client.post(
        api.base, body, content_type="application/json", CONTENT_TYPE="application/json"
    )

    assert response.status_code == 400
    assert errors_of(response) == [("malformed_json", None)]


@pytest.mark.parametrize(
    "body",
    [
        b"\xef\xbb\xbf" + BODY.encode(),
        *(with_member(f'"x": {one}') for one in ("1e308", "1e-400", "9" * 4_300, "0." + "1" * 400)),
    ],
    ids=lambda body: repr(body[:20]),
)
def test_takes_a_byte_order_mark_and_long_numbers(api: Api, body: str | bytes) -> None:
    assert api.post(body=body).status_code == 200


def test_what_is_nested_too_deep_for_a_key_is_refused(api: Api) -> None:
    """Writing takes more of the stack than reading. How deep is read depends on Python."""
    refused = bisect(range(200_000), 200, key=lambda n: api.post(body=nested(n)).status_code)
    statuses = set()
    for depth in (100, refused // 2, *range(refused - 30, refused + 10)):
        before = Cart.objects.count()
        response = api.post(body=nested(depth), Idempotency_Key=f"key-{depth}")
        statuses.add(response.status_code)
        if response.status_code == 400:
            assert errors_of(response) == [("malformed_json", None)]
            assert Cart.objects.count() == before
    assert statuses == {200, 400}


@pytest.mark.parametrize("body", ["null", "[]", '"{}"', "5", "1.5", "true", f"[{BODY}]"])
def test_refuses_what_is_no_object(api: Api, unchanged: Unchanged, body: str) -> None:
    response = api.post(body=body)

    assert_refused(response, 400, "invalid_type", "The body must be a JSON object.", "")


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (None, "The request has no body."),
        ('{\n  "x": y\n}', "The body is not JSON: Expecting value at line 2, column 8."),
        *(
            (sent, f"The body has an object that names the same member twice: {name}.")
            for sent, name in {
                '{"a": 1, "items": [{"b": 1, "price": 2, "price": 3}]}': "price",
                '{"\\ud800": 1, "\\ud800": 2}': "?",
                f'{{"{"n" * 99}": 1, "{"n" * 99}": 2}}': "n" * 64,
            }.items()
        ),
        *(
            (f'{{"price": {number}}}', f"The body has a number that is out of range: {told}.")
            for number, told in {"-1.5e999": "-1.5e999", "9" * 400 + ".5": "9" * 64}.items()
        ),
        ('{"price": ' + "9" * 4_301 + "}", "The body has an integer of too many digits."),
    ],
)
def test_tells_what_is_wrong(api: Api, unchanged: Unchanged, body: str, text: str) -> None:
    assert_refused(api.post(body=body), 400, "malformed_json", text)


# How a body arrives


def send_stream(api: Api, stream: Any, **environ: Any) -> Any:
    """Post a body as a stream, as a server passes it to the application."""
    environ |= {"CONTENT_TYPE": "application/json", "wsgi.input": stream}
    return api.client.generic("POST", api.base, **environ)


# Without a length: the stream's end is the body's end.
CHUNKED = {"HTTP_TRANSFER_ENCODING": "chunked", "wsgi.input_terminated": True}


@pytest.mark.parametrize("size", [2_000, 2_001, 3_000_000])
def test_takes_a_body_of_the_limit_and_no_larger_one(
    api: Api, unchanged: Unchanged, settings: Any, size: int
) -> None:
    settings.MAX_BODY_BYTES = 2_000

    response = api.post(body=BODY.ljust(size))

    if size == 2_000:
        assert response.status_code == 200
        unchanged()
    else:
        text = "The body must not be larger than 2000 bytes."
        assert_refused(response, 413, "payload_too_large", text, limit=2_000)


def test_no_more_than_the_limit_is_read_of_a_body_without_a_length(
    api: Api, unchanged: Unchanged, settings: Any
) -> None:
    settings.MAX_BODY_BYTES = 2_000
    stream = io.BytesIO(b" " * 3_000_000)

    response = send_stream(api, stream, **CHUNKED)

    assert errors_of(response) == [("payload_too_large", None)]
    assert stream.tell() == 2_001


class Broken(io.RawIOBase):
    """A body whose caller closes the connection before the end."""

    def read(self, size: int = -1) -> bytes:
        raise OSError(f"Connection reset by peer, {size} bytes short")


@pytest.mark.parametrize(
    ("stream", "length", "text"),
    [
        (io.BytesIO(), "0", "The request has no body."),
        (Broken(), "10", "The body did not arrive whole."),
    ],
    ids=["none", "broken off"],
)
def test_a_body_that_does_not_come_is_refused(
    api: Api, unchanged: Unchanged, stream: Any, length: str, text: str
) -> None:
    for environ in (CHUNKED, {"CONTENT_LENGTH": length}):
        response = send_stream(api, stream, **environ)
        assert_refused(response, 400, "malformed_json", text)


@pytest.mark.parametrize("length", [str(len(BODY) + 1), str(len(BODY) - 1), "0", "-1", "ten", ""])
def test_a_body_of_another_length_is_refused(api: Api, unchanged: Unchanged, length: str) -> None:
    response = send_stream(api, io.BytesIO(BODY.encode()), CONTENT_LENGTH=length)

    assert response.status_code == 400
    assert errors_of(response) == [("malformed_json", None)]


# Content-Type and Content-Encoding


def send(api: Api, content_type: str, **headers: Any) -> Any:
    """Post a cart with this Content-Type, or without one if it is empty."""
    return api.client.generic("POST", api.base, BODY, content_type=content_type, headers=headers)


@pytest.mark.parametrize(
    "parameters",
    ["", "; charset=utf-8", ";charset=UTF-8", '; charset="utf-8"', "; charset=utf8", "; v=2", ";"],
)
def test_takes_json_in_utf_8(api: Api, parameters: str) -> None:
    assert send(api, f"application/json{parameters}").status_code == 200
    assert send(api, f"APPLICATION/JSON{parameters}").status_code == 200


@pytest.mark.parametrize(
    "media_type",
    [
        *("", "text/plain", "application/x-www-form-urlencoded", "application/*", "application"),
        *("application/problem+json", "application/merge-patch+json"),
        *("multipart/form-data; boundary=x", "application/json, application/json"),
        *(f"application/json; version={'1' * 200}", "application/json; charset*=nonsense''utf-8"),
        *(f"application/json; charset={name}" for name in ("utf-16", "", "\u00e9")),
    ],
)
def test_refuses_another_media_type(api: Api, unchanged: Unchanged, media_type: str) -> None:
    """Even a merge patch: only changes take it."""
    text = "The body must be sent as application/json in UTF-8."
    assert_refused(send(api, media_type), 415, "unsupported_media_type", text, "Content-Type")


@pytest.mark.parametrize("coding", ["gzip", "identity", "gzip, gzip", ""])
def test_refuses_every_content_encoding(api: Api, unchanged: Unchanged, coding: str) -> None:
    response = send(api, "application/json", **{"Content-Encoding": coding})

    text = "The body must be sent without a Content-Encoding."
    assert_refused(response, 415, "unsupported_media_type", text, "Content-Encoding")
