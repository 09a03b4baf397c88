"""503 when the database cannot be reached or another request holds a row for too long."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, suppress
from datetime import timedelta
from functools import partial
from typing import Any

import psycopg
import pytest
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.db.models import F
from django.http import HttpResponse

from carts.models import Cart, CartItem, IdempotencyRecord
from cartsvc.serving import metrics
from tests.support import bodies
from tests.support.answers import assert_refused, error
from tests.support.callers import PROFILE, Api, HttpApi
from tests.support.carts import created, shown
from tests.support.concurrency import open_transaction, together, waiting_for_a_lock
from tests.support.factories import CartFactory
from tests.support.operations import OF_A_CUSTOMER, send
from tests.support.programs import wait_until
from tests.support.table_contents import unguarded_rows

pytestmark = pytest.mark.django_db(transaction=True)

# The contract's 5 seconds are those of a quiet machine. Without a limit it would be a minute.
BUSY = timedelta(seconds=20)
UNAVAILABLE = error("unavailable", "The service cannot reach its data right now. Try again.")


@pytest.fixture
def cart(transactional_db: None) -> dict[str, Any]:
    return shown(Api(), created(Api()))


def run(sql: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql)


def assert_unavailable(response: HttpResponse) -> None:
    assert (response.status_code, response.json()) == (503, UNAVAILABLE)
    assert response.headers["Retry-After"] == "1"


def database_errors() -> float:
    """Return the metrics' count of requests that the database did not serve."""
    return metrics.REGISTRY.get_sample_value("cartsvc_database_errors_total") or 0


def works_again(api: Api, cart: dict[str, Any]) -> None:
    """The cart is as it was, and can be changed."""
    assert shown(api, cart["cartId"]) == cart
    assert send(api, "Add Item", cart["cartId"]).status_code == 200


def test_an_unreachable_database_is_an_outage_and_not_an_error(
    cart: dict[str, Any],
    unreachable: Callable[[], AbstractContextManager[None]],
    caplog: pytest.LogCaptureFixture,
) -> None:
    api, counted = Api(), database_errors()

    with unreachable():
        for response in [
            api.post("", bodies.cart(), Idempotency_Key="key-1"),
            *(
                send(api, name, cart["cartId"], cart["items"][0]["itemId"])
                for name in OF_A_CUSTOMER
            ),
        ]:
            assert_unavailable(response)
        # Requests that need no database are answered as usual.
        assert api.post("", {}).status_code == 400

    assert database_errors() == counted + 1 + len(OF_A_CUSTOMER)
    works_again(api, cart)
    said = [record for record in caplog.records if record.levelname == "WARNING"]
    assert len(said) == len(OF_A_CUSTOMER) + 1
    assert all("The database did not serve a request: " in record.message for record in said)


@pytest.mark.usefixtures("usual_wait_for_a_lock")
def test_a_database_that_only_reads_is_an_outage_for_writers(cart: dict[str, Any]) -> None:
    """A PostgreSQL primary becomes read-only when it is demoted."""
    api, cart_id = Api(), cart["cartId"]
    on, off = (
        ("SET default_transaction_read_only = on", "RESET default_transaction_read_only")
        if connection.vendor == "postgresql"
        else ("PRAGMA query_only = on", "PRAGMA query_only = off")
    )

    run(on)
    try:
        assert_unavailable(send(api, "Add Item", cart_id))
        assert shown(api, cart_id) == cart
        ready = api.client.get("/readyz")
        assert (ready.status_code, ready.json()) == (503, {"status": "database read-only"})
    finally:
        run(off)

    works_again(api, cart)


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite is no server")
@pytest.mark.parametrize(
    "end",
    [
        "SELECT pg_terminate_backend(pg_backend_pid())",
        "SET LOCAL transaction_read_only = on",
    ],
)
def test_a_session_that_ends_in_the_middle_of_a_change(cart: dict[str, Any], end: str) -> None:
    def after_the_lock(execute: Callable[..., Any], sql: str, *args: Any) -> Any:
        result = execute(sql, *args)
        if "FOR UPDATE" in sql:
            with suppress(psycopg.Error):
                connection.connection.execute(end)
        return result

    with connection.execute_wrapper(after_the_lock):
        assert_unavailable(send(Api(), "Add Item", cart["cartId"]))

    works_again(Api(), cart)


@pytest.mark.parametrize("pending", [True, False], ids=["pending", "applied"])
@pytest.mark.parametrize(("table", "column"), [("cart", "version"), ("cartitem", "value")])
def test_a_missing_column_is_an_outage_only_while_migrations_are_pending(
    cart: dict[str, Any],
    caplog: pytest.LogCaptureFixture,
    table: str,
    column: str,
    pending: bool,
) -> None:
    """The code is ahead of the database then. Otherwise it is wrong, and the log says where."""
    api, counted, recorder = Api(), database_errors(), MigrationRecorder(connection)
    (latest,) = MigrationLoader(connection).graph.leaf_nodes("carts")

    run(f"ALTER TABLE carts_{table} RENAME COLUMN {column} TO of_old")
    if pending:
        recorder.record_unapplied(*latest)
    try:
        answers = [
            send(api, name, cart["cartId"]) for name in ("Get Cart", "Create Cart", "Add Item")
        ]
    finally:
        run(f"ALTER TABLE carts_{table} RENAME COLUMN of_old TO {column}")
        if pending:
            recorder.record_applied(*latest)

    tracebacks = [record for record in caplog.records if record.exc_info]
    if pending:
        for answer in answers:
            assert_unavailable(answer)
        assert database_errors() == counted + len(answers)
        assert tracebacks == []
    else:
        assert [answer.status_code for answer in answers] == [500] * 3
        assert database_errors() == counted
        assert len(tracebacks) == 3
    works_again(api, cart)


@pytest.mark.usefixtures("usual_wait_for_a_lock")
def test_a_cart_held_too_long_is_an_outage_for_its_writers_only(http_api: HttpApi) -> None:
    mine = CartFactory(profile_key=PROFILE).pk
    other = CartFactory(profile_key=PROFILE).pk

    # The error comes while the row is still held, for a minute.
    with open_transaction(
        lambda: unguarded_rows(Cart).filter(pk=mine).update(version=F("version") + 5)
    ):
        reader, writer, elsewhere = together(
            partial(send, http_api, name, str(cart))
            for name, cart in (("Get Cart", mine), ("Add Item", mine), ("Add Item", other))
        )

    assert (reader.status_code, reader.json()["data"]["version"]) == (200, 1)
    assert_unavailable(writer)
    assert writer.elapsed < BUSY
    # SQLite has one writer at a time, whatever it writes.
    assert elsewhere.status_code == (200 if connection.vendor == "postgresql" else 503)
    assert not CartItem.objects.filter(cart=mine).exists()
    assert shown(http_api, str(mine))["version"] == 6
    assert send(http_api, "Add Item", str(mine)).status_code == 200


@pytest.mark.usefixtures("usual_wait_for_a_lock")
def test_a_twin_that_runs_too_long_is_told_so(http_api: HttpApi) -> None:
    create = partial(http_api.post, "", bodies.cart(), Idempotency_Key="key-1")
    twin = partial(IdempotencyRecord.objects.create, profile_key=PROFILE, key="key-1", digest=b"x")

    with open_transaction(twin):
        answer = create()

    if connection.vendor == "postgresql":
        text = "A request with this Idempotency-Key is still running."
        assert_refused(answer, 409, "request_in_progress", text, "Idempotency-Key")
    else:  # SQLite cannot tell which request holds the lock
        assert_unavailable(answer)
    assert not Cart.objects.exists()
    assert create().status_code == 422  # the other request has committed by now


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite locks no tables")
def test_a_locked_table_is_an_outage_and_no_twin(http_api: HttpApi) -> None:
    create = partial(http_api.post, "", bodies.cart(), Idempotency_Key="key-1")
    counted = database_errors()

    with open_transaction(lambda: run("LOCK TABLE carts_idempotencyrecord IN SHARE MODE")):
        assert_unavailable(create())

    assert database_errors() == counted + 1
    assert not Cart.objects.exists()
    assert create().status_code == 200


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has no levels of isolation")
@pytest.mark.parametrize("headers", [{}, {"Idempotency_Key": "key-1"}], ids=["plain", "with a key"])
def test_a_database_whose_own_isolation_is_stricter(
    http_api: HttpApi, headers: dict[str, str]
) -> None:
    """What waited for a cart sees what has become of it, and does not fail."""
    cart_id = created(http_api)
    alter = f"ALTER DATABASE {connection.settings_dict['NAME']}"
    run(f"{alter} SET default_transaction_isolation = 'repeatable read'")
    try:
        with (
            ThreadPoolExecutor(1) as pool,
            open_transaction(
                lambda: unguarded_rows(Cart).filter(pk=cart_id).update(version=5)
            ) as release,
        ):
            added = pool.submit(http_api.post, f"/{cart_id}/items", bodies.item(), **headers)
            wait_until(lambda: waiting_for_a_lock() == 1)
            release()
            assert (added.result().status_code, added.result().headers.get("ETag")) == (200, '"6"')
    finally:
        run(f"{alter} RESET default_transaction_isolation")
