import io
import json
from collections.abc import Callable
from typing import Any

import pytest

from carts.models import Cart
from tests.support import bodies
from tests.support.answers import error, problems
from tests.support.callers import Api

BODY = json.dumps(bodies.cart())


def test_a_byte_order_mark_is_skipped(api: Api) -> None:
    assert api.post(body=b"\xef\xbb\xbf" + BODY.encode()).status_code == 200


def with_member(text: str) -> str:
    return f"{BODY[:-1]}, {text}}}"


def nested(depth: int) -> str:
    return with_member('"x": ' + "[" * depth + "]" * depth)


def nested_objects(depth: int) -> str:
    return with_member('"x": ' + '{"x":' * depth + "1" + "}" * depth)


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
        with_member('"x": 01'),
        with_member('"x": 0x1F'),
        with_member('"x": \u0661'),
        with_member('"x": undefined'),
        with_member('"x": "tab\t"'),
        with_member('"x": 1 // why'),
        with_member('"currency": "EUR"'),
        with_member('"x": {"y": 1, "y": 1}'),
        with_member('"x": 1, "\\u0078": 1'),
        with_member('"x": NaN'),
        with_member('"x": Infinity'),
        with_member('"x": -Infinity'),
        with_member('"x": 1e309'),
        with_member('"x": 1.5E+309'),
        with_member('"x": ' + "9" * 309),
        with_member('"x": 1e99999999999999999999'),
        with_member('"x": ' + "9" * 310),
        with_member('"x": ' + "9" * 5_000),
        with_member('"x": ' + "9" * 310 + ".5"),
        nested(100_000),
        nested_objects(40_000),
        "[" * 200_000,
        '{"x":' * 40_000,
        b"\xff\xfe" + BODY.encode("utf-16-le"),
        BODY.encode("utf-16"),
        b'{"x": "\xff"}',
        b'{"x": "\xf0\x9f\x8d"}',
        b'{"x": "\xed\xa0\x80"}',
        b'{"x": "\xc0\xaf"}',
        b"\xef\xbb\xbf\xef\xbb\xbf" + BODY.encode(),
        b"\x1f\x8b\x08",
        "\0",
    ],
    ids=lambda body: repr(body[-40:]),
)
def test_refuses_what_is_not_json(
    api: Api, unchanged: Callable[[], None], body: str | bytes
) -> None:
    # The test client sends no Content-Type with an empty body.
    response: Any = api.client.post(
        api.base, body, content_type="application/json", CONTENT_TYPE="application/json"
    )

    assert response.status_code == 400
    assert problems(response) == [("malformed_json", None)]


@pytest.mark.parametrize(
    "number",
    [
        "1e308",
        "1e-400",
        "9" * 308,
        "0." + "1" * 400,
    ],
)
def test_takes_numbers_within_a_double_where_they_are_ignored(api: Api, number: str) -> None:
    assert api.post(body=with_member(f'"x": {number}')).status_code == 200


def test_what_is_nested_too_deep_for_a_key_is_refused(api: Api) -> None:
    """Writing takes more of the stack than reading. How deep is read depends on Python."""
    read, refused = 100, 200_000
    while refused - read > 1:
        depth = (read + refused) // 2
        if api.post(body=nested(depth)).status_code == 200:
            read = depth
        else:
            refused = depth
    statuses = set()
    for depth in (100, read // 2, *range(read - 30, read + 2)):
        before = Cart.objects.count()
        response = api.post(body=nested(depth), Idempotency_Key=f"key-{depth}")
        assert response.status_code in {200, 400}, depth
        if response.status_code == 400:
            assert problems(response) == [("malformed_json", None)]
            assert Cart.objects.count() == before
        statuses.add(response.status_code)
    assert statuses == {200, 400}


@pytest.mark.parametrize("body", ["null", "[]", "[{}]", '"{}"', "5", "1.5", "true", f"[{BODY}]"])
def test_refuses_what_is_no_object(api: Api, unchanged: Callable[[], None], body: str) -> None:
    response = api.post(body=body)

    assert response.status_code == 400
    assert response.json() == error("invalid_type", "The body must be a JSON object.", "")


def padded(size: int) -> bytes:
    return BODY.encode().ljust(size)


def test_takes_a_body_of_the_limit(api: Api, settings: Any) -> None:
    settings.MAX_BODY_BYTES = 2_000

    assert api.post(body=padded(2_000)).status_code == 200


@pytest.mark.parametrize("size", [2_001, 3_000_000])
def test_refuses_a_larger_body(
    api: Api, unchanged: Callable[[], None], settings: Any, size: int
) -> None:
    settings.MAX_BODY_BYTES = 2_000

    response = api.post(body=padded(size))

    assert response.status_code == 413
    assert response.json() == error(
        "payload_too_large", "The body must not be larger than 2000 bytes."
    )


def send_stream(api: Api, stream: Any, **environ: Any) -> Any:
    """Post a body as a stream, as a server passes it to the application."""
    response: Any = api.client.generic(
        "POST",
        api.base,
        **{"CONTENT_TYPE": "application/json", "wsgi.input": stream, **environ},
    )
    return response


def send_chunked(api: Api, body: bytes) -> Any:
    """Post a body without a length: the stream's end is the body's end."""
    return send_stream(
        api,
        io.BytesIO(body),
        **{"HTTP_TRANSFER_ENCODING": "chunked", "wsgi.input_terminated": True},
    )


def test_a_chunked_body_is_read_like_any_other(api: Api) -> None:
    assert send_chunked(api, BODY.encode()).status_code == 200


class Endless(io.RawIOBase):
    """A body that never ends, and records how much of it was read."""

    taken = 0

    def read(self, size: int = -1) -> bytes:
        assert size > 0
        self.taken += size
        return b" " * size


def test_no_more_than_the_limit_is_read_of_an_endless_body(
    api: Api, unchanged: Callable[[], None], settings: Any
) -> None:
    settings.MAX_BODY_BYTES = 2_000
    endless = Endless()

    response = send_stream(
        api, endless, **{"HTTP_TRANSFER_ENCODING": "chunked", "wsgi.input_terminated": True}
    )

    assert problems(response) == [("payload_too_large", None)]
    assert endless.taken == 2_001


class Broken(io.RawIOBase):
    """A body whose caller closes the connection before the end."""

    def read(self, size: int = -1) -> bytes:
        raise OSError(f"Connection reset by peer, {size} bytes short")


@pytest.mark.parametrize(
    "environ",
    [
        {"HTTP_TRANSFER_ENCODING": "chunked", "wsgi.input_terminated": True},
        {"CONTENT_LENGTH": "10"},
    ],
    ids=["chunked", "with length"],
)
def test_a_body_that_breaks_off_is_refused(
    api: Api, unchanged: Callable[[], None], environ: dict[str, Any]
) -> None:
    response = send_stream(api, Broken(), **environ)

    assert response.status_code == 400
    assert response.json() == error("malformed_json", "The body did not arrive whole.")


@pytest.mark.parametrize("length", [str(len(BODY) + 1), str(len(BODY) - 1), "0", "-1", "ten", ""])
def test_a_body_of_another_length_is_refused(
    api: Api, unchanged: Callable[[], None], length: str
) -> None:
    response = send_stream(api, io.BytesIO(BODY.encode()), CONTENT_LENGTH=length)

    assert response.status_code == 400
    assert problems(response) == [("malformed_json", None)]


def test_tells_the_line_and_the_column(api: Api, unchanged: Callable[[], None]) -> None:
    response = api.post(body='{\n  "partnerKey": "ACME",\n  "restaurantKey": x\n}')

    assert response.status_code == 400
    [notification] = response.json()["notifications"]
    assert notification["code"] == "malformed_json"
    assert notification["text"].endswith("at line 3, column 20.")


def test_refuses_a_request_without_a_body(api: Api, unchanged: Callable[[], None]) -> None:
    response = api.post()

    assert response.status_code == 400
    assert response.json() == error("malformed_json", "The request has no body.")
