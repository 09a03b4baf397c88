from datetime import UTC, datetime

import pytest
from pytest_django import DjangoAssertNumQueries

from carts.models import Cart
from tests.support.answers import assert_refused
from tests.support.callers import STRANGER, Api
from tests.support.carts import shown
from tests.support.table_contents import Unchanged, unguarded_rows


@pytest.mark.parametrize("known", ['"1"', 'W/"1"', '"7", "1"', "*", '"abc",W/"1"'])
def test_a_known_cart_is_not_sent_again(
    api: Api, cart_id: str, django_assert_num_queries: DjangoAssertNumQueries, known: str
) -> None:
    with django_assert_num_queries(1):  # the version
        response = api.get(f"/{cart_id}", If_None_Match=known)

    assert (response.status_code, response.content) == (304, b"")
    assert response["ETag"] == '"1"'
    assert response["X-Request-ID"]
    assert response["Cache-Control"] == "no-store"
    assert "Content-Type" not in response
    assert "Content-Length" not in response


@pytest.mark.parametrize("known", ['"2"', '"abc"', 'W/"11"', '""'])
def test_another_version_is_sent(api: Api, cart_id: str, known: str) -> None:
    response = api.get(f"/{cart_id}", If_None_Match=known)

    assert response.status_code == 200
    assert response["ETag"] == '"1"'
    assert response.content == api.get(f"/{cart_id}").content


def test_a_cart_that_is_not_there_is_not_known(api: Api, unchanged: Unchanged) -> None:
    response = api.get(f"/{STRANGER}", If_None_Match="*")

    assert_refused(response, 404, "cart_not_found", "This profile has no such cart.")


@pytest.mark.parametrize("known", [None, '"1"'])
def test_head_is_get_without_a_body(api: Api, cart_id: str, known: str | None) -> None:
    headers = {} if known is None else {"If_None_Match": known}

    for path in ("", f"/{cart_id}", f"/{STRANGER}"):
        got, head = api.get(path, **headers), api.request("HEAD", path, **headers)

        assert (head.status_code, head.content) == (got.status_code, b"")
        assert {**head.headers, "X-Request-ID": ""} == {**got.headers, "X-Request-ID": ""}


@pytest.mark.parametrize("microsecond", [0, 1, 120_000, 999_999])
def test_a_moment_has_six_digits_of_a_second(api: Api, cart_id: str, microsecond: int) -> None:
    moment = datetime(2036, 1, 2, 3, 4, 5, microsecond, UTC)
    unguarded_rows(Cart).update(created_on=moment, modified_on=moment)

    [listed] = api.get().json()["data"]["carts"]

    for cart in (shown(api, cart_id), listed):
        assert cart["createdOn"] == cart["modifiedOn"] == f"2036-01-02T03:04:05.{microsecond:06}Z"
