"""Reading what may be known already: HEAD, and If-None-Match on Get Cart."""

from collections.abc import Callable

import pytest
from pytest_django import DjangoAssertNumQueries

from tests.support.answers import error
from tests.support.callers import Api
from tests.support.carts import created

STRANGER = "00000000-0000-0000-0000-000000000000"


@pytest.mark.parametrize("known", ['"1"', 'W/"1"', '"7", "1"', "*", '"abc",W/"1"'])
def test_a_known_cart_is_not_sent_again(
    api: Api, django_assert_num_queries: DjangoAssertNumQueries, known: str
) -> None:
    cart_id = created(api)

    with django_assert_num_queries(1):  # the version
        response = api.get(f"/{cart_id}", If_None_Match=known)

    assert (response.status_code, response.content) == (304, b"")
    assert response["ETag"] == '"1"'
    assert response["X-Request-ID"]
    assert response["Cache-Control"] == "no-store"
    assert "Content-Type" not in response
    assert "Content-Length" not in response


@pytest.mark.parametrize("known", ['"2"', '"abc"', 'W/"11"', '""'])
def test_another_version_is_sent(api: Api, known: str) -> None:
    cart_id = created(api)

    response = api.get(f"/{cart_id}", If_None_Match=known)

    assert response.status_code == 200
    assert response["ETag"] == '"1"'
    assert response.content == api.get(f"/{cart_id}").content


def test_a_cart_that_is_not_there_is_not_known(api: Api, unchanged: Callable[[], None]) -> None:
    response = api.get(f"/{STRANGER}", If_None_Match="*")

    assert response.status_code == 404
    assert response.json() == error("cart_not_found", "This profile has no such cart.")


@pytest.mark.parametrize("known", [None, '"1"'])
def test_head_is_get_without_a_body(api: Api, known: str | None) -> None:
    cart_id = created(api)
    headers = {} if known is None else {"If_None_Match": known}

    for path in ("", f"/{cart_id}", f"/{STRANGER}"):
        got, head = api.get(path, **headers), api.request("HEAD", path, **headers)

        assert (head.status_code, head.content) == (got.status_code, b"")
        differing = {"X-Request-ID"}
        assert {n: v for n, v in head.items() if n not in differing} == {
            n: v for n, v in got.items() if n not in differing
        }


@pytest.mark.parametrize("query", ["limit=1&limit=1", "limit=1&limit=2", "cursor=a&cursor=b"])
def test_refuses_a_parameter_sent_twice(
    api: Api, unchanged: Callable[[], None], query: str
) -> None:
    response = api.get(f"?{query}")

    name = query.partition("=")[0]
    assert response.status_code == 400
    assert response.json() == error("invalid_parameter", f"{name} must be sent once.", name)
