"""The number of statements of each operation, BEGIN and COMMIT included."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from pytest_django.fixtures import DjangoAssertNumQueries

from tests.support import bodies
from tests.support.callers import STRANGER, Api
from tests.support.carts import created, created_with_items, shown

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("items", [1, 50])
def test_create(django_assert_num_queries: DjangoAssertNumQueries, items: int) -> None:
    api = Api()
    with django_assert_num_queries(
        1  # BEGIN
        + 1  # INSERT the cart
        + 1  # INSERT its items
        + 1  # INSERT their options
        + 1  # COMMIT
    ):
        assert api.post(body=bodies.cart(items=items, options=2)).status_code == 200


@pytest.mark.usefixtures("raised_limits")
def test_create_of_the_largest_cart(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    api = Api()
    body = bodies.cart(items=500, options=4)
    with django_assert_num_queries(
        1  # BEGIN
        + 1  # INSERT the cart
        + 1  # INSERT its items
        + 1  # INSERT their options
        + 1  # COMMIT
    ) as queries:
        assert api.post(body=body).status_code == 200
    if connection.vendor == "postgresql":
        # The framework counts `executemany`, which it logs as "500 times: …", as one query.
        assert not [query for query in queries if " times: " in query["sql"][:12]]


def test_create_without_items(django_assert_num_queries: DjangoAssertNumQueries) -> None:
    api = Api()
    with django_assert_num_queries(
        1  # BEGIN
        + 1  # INSERT the cart
        + 1  # COMMIT
    ):
        assert api.post(body=bodies.bare_cart()).status_code == 200


@pytest.mark.parametrize("items", [1, 50])
def test_create_with_a_key(django_assert_num_queries: DjangoAssertNumQueries, items: int) -> None:
    api = Api()
    with django_assert_num_queries(
        1  # BEGIN
        + 1  # INSERT the key's record
        + 2  # SAVEPOINT, RELEASE
        + 3  # INSERT the cart, its items, their options
        + 1  # COMMIT
    ):
        first = api.post(body=bodies.cart(items=items), Idempotency_Key="key-1")
    assert first.status_code == 200

    with django_assert_num_queries(
        1  # BEGIN
        + 1  # INSERT the key's record, which fails
        + 1  # ROLLBACK
        + 3  # BEGIN, SELECT the earlier record and lock it, COMMIT
    ):
        again = api.post(body=bodies.cart(items=items), Idempotency_Key="key-1")
    assert (again.status_code, again["Idempotent-Replayed"]) == (200, "true")


@pytest.mark.parametrize("items", [1, 50])
@pytest.mark.parametrize("options", [0, 1, 100])
def test_update(
    django_assert_num_queries: DjangoAssertNumQueries, items: int, options: int
) -> None:
    api = Api()
    cart_id, item_ids = created_with_items(api, *["Calzone"] * items)
    body = bodies.item(options=[bodies.option(displayName="Olives")] * options)
    with django_assert_num_queries(
        1  # BEGIN
        + 2  # SELECT the cart and lock it, SELECT the item with its options
        + 2  # UPDATE the cart and the item
        + 1  # DELETE its options
        + (1 if options else 0)  # INSERT the new ones
        + 1  # INSERT the record of the change
        + 1  # COMMIT
    ):
        assert api.put(f"/{cart_id}/items/{item_ids[-1]}", body).status_code == 200


@pytest.mark.parametrize("options", [0, 100])
def test_a_change_that_leaves_the_options(
    django_assert_num_queries: DjangoAssertNumQueries, options: int
) -> None:
    api = Api()
    cart_id = created(api, bodies.cart(items=1, options=options))
    [before] = shown(api, cart_id)["items"]
    body = bodies.item(options=options, quantity=3)
    with django_assert_num_queries(
        1  # BEGIN
        + 2  # SELECT the cart and lock it, SELECT the item with its options
        + 2  # UPDATE the cart and the item
        + 1  # INSERT the record of the change
        + 1  # COMMIT
    ):
        assert api.put(f"/{cart_id}/items/{before['itemId']}", body).status_code == 200
    [after] = shown(api, cart_id)["items"]
    assert (after["quantity"], after["options"]) == (3, before["options"])


@pytest.mark.parametrize("items", [1, 50])
@pytest.mark.parametrize("options", [0, 1, 100])
def test_add(django_assert_num_queries: DjangoAssertNumQueries, items: int, options: int) -> None:
    api = Api()
    cart_id, _ = created_with_items(api, *["Calzone"] * items)
    body = bodies.item(options=options)
    with django_assert_num_queries(
        1  # BEGIN
        + 2  # SELECT the cart and lock it, SELECT the last position
        + 1  # UPDATE the cart
        + 1  # INSERT the item
        + (1 if options else 0)  # INSERT its options
        + 1  # INSERT the record of the change
        + 1  # COMMIT
    ):
        assert api.post(f"/{cart_id}/items", body).status_code == 200


@pytest.mark.usefixtures("raised_limits")
@pytest.mark.parametrize("items", [1, 50])
@pytest.mark.parametrize("options", [0, 100])
def test_remove(
    django_assert_num_queries: DjangoAssertNumQueries, items: int, options: int
) -> None:
    api = Api()
    cart_id = created(api, bodies.cart(items=items, options=options))
    item_id = shown(api, cart_id)["items"][-1]["itemId"]
    with django_assert_num_queries(
        1  # BEGIN
        + 2  # SELECT the cart and lock it, SELECT the item with its options
        + 1  # UPDATE the cart
        + (1 if options else 0)  # DELETE its options
        + 1  # DELETE the item
        + 1  # INSERT the record of the change
        + 1  # COMMIT
    ):
        assert api.delete(f"/{cart_id}/items/{item_id}").status_code == 200


@pytest.mark.parametrize(("items", "options"), [(0, 0), (1, 1), (50, 10)])
def test_get(django_assert_num_queries: DjangoAssertNumQueries, items: int, options: int) -> None:
    api = Api()
    cart_id = created(api, bodies.cart(items=items, options=options))
    with django_assert_num_queries(1):  # the cart, its items and their options
        assert len(shown(api, cart_id)["items"]) == items


@pytest.mark.parametrize(("carts", "items"), [(0, 0), (1, 1), (20, 3), (1, 50)])
def test_list(django_assert_num_queries: DjangoAssertNumQueries, carts: int, items: int) -> None:
    api = Api()
    for _ in range(carts):
        created(api, bodies.cart(items=items))
    with django_assert_num_queries(1):  # the carts of a page with their totals
        assert len(api.get().json()["data"]["carts"]) == carts


@pytest.mark.parametrize(
    ("body", "path", "status"),
    [
        (bodies.cart(note=7), "", 400),
        (bodies.cart(items=[bodies.item(currency="USD")]), "", 400),
        ("{", "", 400),
        (bodies.item(quantity=0), f"/{STRANGER}/items", 400),
        (bodies.item(), "/mine/items", 400),
    ],
    ids=["field", "currency", "json", "item", "path"],
)
def test_a_refused_body_costs_nothing(
    django_assert_num_queries: DjangoAssertNumQueries, body: object, path: str, status: int
) -> None:
    api = Api()
    with django_assert_num_queries(0):
        assert api.post(path, body).status_code == status


@pytest.mark.parametrize(
    "call",
    [
        lambda api: api.put(f"/{STRANGER}/items/{STRANGER}", bodies.item()),
        lambda api: api.post(f"/{STRANGER}/items", bodies.item()),
    ],
    ids=["update", "add"],
)
def test_a_cart_that_does_not_exist(
    django_assert_num_queries: DjangoAssertNumQueries, call: Callable[[Api], Any]
) -> None:
    api = Api()
    with django_assert_num_queries(
        1  # BEGIN
        + 2  # SELECT the cart, of which there is none, SELECT the item
        + 1  # ROLLBACK
    ):
        assert call(api).status_code == 404


@pytest.mark.parametrize("items", [1, 50])
def test_change(django_assert_num_queries: DjangoAssertNumQueries, items: int) -> None:
    api = Api()
    cart_id, item_ids = created_with_items(api, *["Calzone"] * items)
    with django_assert_num_queries(
        1  # BEGIN
        + 2  # SELECT the cart and lock it, SELECT the item with its options
        + 2  # UPDATE the cart and the item
        + 1  # INSERT the record of the change
        + 1  # COMMIT
    ):
        assert api.patch(f"/{cart_id}/items/{item_ids[-1]}", {"quantity": 7}).status_code == 200
    with django_assert_num_queries(
        1  # BEGIN
        + 2  # SELECT the cart and lock it, SELECT what can be changed
        + 2  # UPDATE its version, and what is changed
        + 1  # INSERT the record of the change
        + 1  # COMMIT
    ):
        assert api.patch(f"/{cart_id}", {"note": "x", "platform": "y"}).status_code == 200


@pytest.mark.parametrize("items", [1, 50])
def test_delete(django_assert_num_queries: DjangoAssertNumQueries, items: int) -> None:
    api = Api()
    cart_id, _ = created_with_items(api, *["Calzone"] * items)
    with django_assert_num_queries(
        1  # BEGIN
        + 2  # SELECT the cart and lock it, SELECT its last position
        + 4  # DELETE the options, the items, the changes and the cart
        + 1  # COMMIT
    ):
        assert api.delete(f"/{cart_id}").status_code == 200
