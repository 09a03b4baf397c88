"""The statements of each operation, BEGIN and COMMIT included, whatever the cart holds.

And how often it sends something to PostgreSQL, which wakes its process, and waits for the answer:
once for all that is sent at once.
"""

import os
import re
import socket
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from itertools import count
from tempfile import TemporaryFile
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from psycopg.pq import Trace

from carts.models import Cart
from carts.models.cart_change import Author
from carts.models.manager import MAX_RETURNED
from carts.models.reads import SELECT_ITEM, SELECT_LAST_POSITION, select_summaries
from carts.models.writes import Totals
from cartsvc.db.compiled_statements import Select
from cartsvc.db.transaction import Transaction
from tests.support import bodies
from tests.support.callers import PROFILE, STRANGER, Api
from tests.support.carts import created, shown
from tests.support.factories import CartFactory, ItemFactory
from tests.support.operations import CHANGES, after, send
from tests.support.table_contents import unguarded_rows

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("raised_limits")]

INSERTS = "INSERT cart, INSERT cartitem, INSERT cartitemoption"
# The lock, and what is about to change.
LOCKED = "BEGIN, SELECT cart, SELECT cartitem"
ALL_ITEMS = "DELETE cartitemoption, DELETE cartitem"
DELETES = f"{ALL_ITEMS}, DELETE cartchange, DELETE cart, INSERT deletedcart"
MOVE_KEPT = "DELETE movedcart, INSERT movedcart"
MOVED = f"UPDATE cartchange, UPDATE cartitemoption, UPDATE cartitem, UPDATE cart, {MOVE_KEPT}"
# From one shard to another.
# The first takes a lock: see `AwaitMoves`.
COPIED = (
    "SELECT, INSERT cart, INSERT cartitem, INSERT cartitemoption, INSERT cartchange, "
    f"DELETE cartchange, DELETE cartitemoption, DELETE cartitem, DELETE cart, {MOVE_KEPT}"
)
RECORDED = "UPDATE cart, INSERT cartchange, COMMIT"
SHOWN = "UPDATE cart, INSERT cartchange, SELECT cart, COMMIT"


# libpq sends when it has so much, whether there is more to come or not.
LIBPQ_BUFFER_BYTES = 8192


@contextmanager
def waits(number: int) -> Iterator[None]:
    """Check how often the driver sends something in the block and then waits for an answer.

    It sends once for each answer, and what is larger than libpq's buffer in pieces of its size.
    """
    # Whether the database is distributed is asked once.
    if connection.is_distributed or connection.vendor != "postgresql":
        yield
        return
    server = connection.connection.pgconn
    with TemporaryFile("w+") as messages:
        server.trace(messages.fileno())
        server.set_trace_flags(Trace.SUPPRESS_TIMESTAMPS)
        before = segments_sent(server.socket)
        try:
            yield
        finally:
            sent = segments_sent(server.socket) - before
            server.untrace()
        messages.seek(0)
        found = re.findall(r"^([FB])\t(\d+)\t(\w+)", messages.read(), re.MULTILINE)
    # A long answer begins while the rest is being sent, but the server ends an exchange with this.
    assert [(side, kind) for side, _, kind in found].count(("B", "ReadyForQuery")) == number
    size = sum(int(length) for side, length, _ in found if side == "F")
    assert number <= sent <= number + size // LIBPQ_BUFFER_BYTES


def segments_sent(descriptor: int) -> int:
    """Return how many segments with data the kernel has sent: `tcpi_data_segs_out`.

    Without `tcpi_total_retrans`: on a busy machine the server acknowledges some late.
    """
    with socket.socket(fileno=os.dup(descriptor)) as server:
        info = server.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 160)
    sent, again = struct.unpack_from("I", info, 156)[0], struct.unpack_from("I", info, 100)[0]
    return int(sent - again)


def statements(call: Callable[[], Any], exchanges: int, status: int = 200) -> str:
    """Return each statement's verb with its table, of an answer with this status.

    Each names the customer for every table that it reads or writes: a database that is spread by
    customer sends it to one node.
    """
    with CaptureQueriesContext(connection) as queries, waits(exchanges):
        assert call().status_code == status
    found = []
    for query in queries:
        # On PostgreSQL, "500 times: " would say that a statement was sent for each row.
        times = "" if connection.vendor == "postgresql" else r"(?:\d+ times: )?"
        verb = re.match(rf"{times}(\w+)", query["sql"])[1]
        table = re.search(r"carts_(\w+)", query["sql"])
        customer = '"profile_key"' if verb == "INSERT" else r'profile_key"?(?:, "\w+"."key"\))? = '
        tables = re.findall('(?:FROM|JOIN|INTO|UPDATE) "?carts_', query["sql"])
        assert len(re.findall(customer, query["sql"])) >= len(tables), query["sql"]
        found.append(f"{verb} {table[1]}" if table else verb)
    return ", ".join(found)


@pytest.mark.parametrize("items", [1, 50, 500])
def test_create(items: int) -> None:
    api, body = Api(), bodies.cart(items=items, options=2)

    def keyed() -> Any:
        return api.post(body=body, Idempotency_Key="key-1")

    assert statements(lambda: api.post(body=bodies.bare_cart()), 2) == "BEGIN, INSERT cart, COMMIT"
    assert statements(lambda: api.post(body=body), 2) == f"BEGIN, {INSERTS}, COMMIT"
    assert statements(keyed, 7) == (
        f"BEGIN, INSERT idempotencyrecord, SAVEPOINT, {INSERTS}, RELEASE, "
        "UPDATE idempotencyrecord, COMMIT"
    )
    assert statements(keyed, 4) == (
        "BEGIN, INSERT idempotencyrecord, SELECT idempotencyrecord, COMMIT"
    )


@pytest.mark.parametrize("items", [1, 40])
@pytest.mark.parametrize("options", [0, 1, 100])
def test_changes(items: int, options: int) -> None:
    api = Api()
    cart = created(api, bodies.cart(items=items, options=options))
    item = shown(api, cart)["items"][-1]["itemId"]
    others = [bodies.option(displayName="Olives")] * options
    deleted, inserted = (
        f"{verb} cartitemoption, " if options else "" for verb in ("DELETE", "INSERT")
    )
    changed, closed = "BEGIN, SELECT cart, SELECT cart, UPDATE cart", "BEGIN, SELECT cart"
    moved = COPIED if connection.is_distributed else MOVED
    expected = {
        "Update Item": f"{LOCKED}, {deleted}UPDATE cartitem, {inserted}{RECORDED}",
        "Change Item": f"{LOCKED}, UPDATE cartitem, {RECORDED}",
        "Add Item": f"{LOCKED}, INSERT cartitem, {inserted}{RECORDED}",
        "Remove Item": f"{LOCKED}, {deleted}DELETE cartitem, {RECORDED}",
        "Change Cart": f"{changed}, {RECORDED}",
        "Add Items": f"{LOCKED}, INSERT cartitem, {inserted}{RECORDED}",
        "Replace Items": f"{LOCKED}, {ALL_ITEMS}, INSERT cartitem, {inserted}{RECORDED}",
        "Close Cart": f"{closed}, {RECORDED}",
        "Reopen Cart": f"{closed}, {RECORDED}",
        "Move Cart": f"BEGIN, SELECT cart, {moved}, {RECORDED}",
        "Delete Cart": f"BEGIN, SELECT cart, SELECT cart, {DELETES}, COMMIT",
    }
    sent = {
        "Update Item": bodies.item(options=others),
        "Add Item": bodies.item(options=others),
        "Add Items": {"items": [bodies.item(options=others[:2])] * 8},
        "Replace Items": {"items": [bodies.item(options=others)] * 8},
    }
    same_options = partial(
        send, api, "Update Item", cart, item, bodies.item(options=options, quantity=3)
    )
    with_the_cart = partial(send, api, "Change Cart", cart, Prefer="return=representation")

    assert statements(same_options, 2) == f"{LOCKED}, UPDATE cartitem, {RECORDED}"
    is_large = items * (1 + options) > MAX_RETURNED
    assert statements(with_the_cart, 2) == f"{changed}, {RECORDED if is_large else SHOWN}"
    api.patch(f"/{cart}", {"note": "y"})
    assert expected.keys() == {*CHANGES, "Reopen Cart"}
    for name, steps in expected.items():
        call = partial(send, api, name, cart, item, sent.get(name))
        assert statements(call, 2) == steps
        api = after(name, api)


@pytest.mark.parametrize(("carts", "items", "options"), [(1, 0, 0), (1, 50, 10), (20, 3, 1)])
def test_reads(carts: int, items: int, options: int) -> None:
    api = Api()
    body = bodies.cart(items=items, options=options)
    ids = [created(api, body) for _ in range(carts)]

    assert statements(lambda: api.get(f"/{ids[0]}"), 1) == "SELECT cart"
    for query in ("", f"?cursor={ids[0]}", "?sort=modified&restaurantKey=4711"):
        assert statements(partial(api.get, query), 1) == "SELECT cart"


@pytest.mark.parametrize(
    ("body", "path"),
    [
        (bodies.cart(note=7), ""),
        (bodies.cart(items=[bodies.item(currency="USD")]), ""),
        ("{", ""),
        (bodies.item(quantity=0), f"/{STRANGER}/items"),
        (bodies.item(), "/mine/items"),
    ],
    ids=["field", "currency", "json", "item", "path"],
)
def test_a_refused_body_asks_the_database_nothing(body: object, path: str) -> None:
    api = Api()
    assert statements(lambda: api.post(path, body), 0, 400) == ""


def carts_of_a_customer(number: int) -> None:
    totals, now = dict.fromkeys(Totals._fields, 0), timezone.now()
    carts = [
        CartFactory.build(profile_key=PROFILE, modified_on=now + timedelta(seconds=n), **totals)
        for n in range(number)
    ]
    unguarded_rows(Cart).bulk_create(carts)


def plan_of(page: Select, explain: str) -> list[Any]:
    sql, *rest = page.compiled
    explained = Select(page.queryset)
    vars(explained)["compiled"] = (f"{explain} {sql}", *rest[:-1], {})
    return explained.rows(profile_key=PROFILE, moment=timezone.now())


@pytest.mark.parametrize("status", ["checkout", "ordered", "abandoned"])
def test_closed_carts_are_looked_up_among_many_open_ones(status: str) -> None:
    carts_of_a_customer(500)
    CartFactory(profile_key=PROFILE).close(outcome=status, reference="x")
    page = select_summaries(("profile_key",), 21, status, further=False, by_change=False)
    explain = "EXPLAIN QUERY PLAN"
    if connection.vendor == "postgresql":
        connection.cursor().execute("ANALYZE carts_cart")
        explain = "EXPLAIN"

    found = plan_of(page, explain)

    assert "carts_cart_profile_status_id" in str(found)
    [(_, json)] = page.rows(profile_key=PROFILE, moment=timezone.now())
    assert '"reference":"x"' in json


@pytest.mark.skipif(connection.vendor != "sqlite", reason="it counts SQLite's steps")
@pytest.mark.parametrize("query", ["", "&status=open", "&restaurantKey=4711"])
def test_a_list_by_change_makes_the_json_of_a_page_alone(query: str) -> None:
    """The JSON of a cart takes some 150 steps, and a look at its keys 11."""
    carts_of_a_customer(400)
    steps = count()
    connection.connection.set_progress_handler(lambda: next(steps) * 0, 1)
    try:
        response = Api().get(f"?sort=modified&limit=5{query}")
    finally:
        connection.connection.set_progress_handler(None, 1)
    assert len(response.json()["data"]["carts"]) == 5
    assert 400 < next(steps) < 400 * 50


@pytest.mark.skipif(connection.vendor != "postgresql", reason="it reads PostgreSQL's plan")
def test_the_plan_of_a_list_by_change_makes_the_json_of_a_page_alone() -> None:
    carts_of_a_customer(400)
    page = select_summaries(("profile_key",), 21, None, further=False, by_change=True)
    [[[explained]]] = plan_of(page, "EXPLAIN (ANALYZE, VERBOSE, FORMAT JSON)")
    nodes = [explained["Plan"]]
    for node in nodes:
        nodes += node.get("Plans", ())
    with_json = [node for node in nodes if "cartId" in str(node.get("Output"))]
    assert {node["Actual Rows"] for node in with_json} == {21}
    assert nodes[-1]["Actual Rows"] == 400


def test_a_cart_that_is_not_found_is_looked_for_once() -> None:
    api = Api()
    found = statements(lambda: api.post(f"/{STRANGER}/items", bodies.item()), 2, 404)
    assert found == f"{LOCKED}, ROLLBACK"


def test_all_that_a_change_looks_at_comes_in_one_exchange(db: None) -> None:
    cart = CartFactory(items=[ItemFactory(), ItemFactory()])
    first, _ = cart.items.all()
    carts = Cart.objects.by(Author("shell", "x"), profile_key=cart.profile_key)
    looks = SELECT_ITEM, SELECT_LAST_POSITION

    with waits(2), Transaction.begin() as transaction:  # the other is COMMIT
        locked, found = carts._lock(transaction, cart.pk, None, *looks, item_id=first.pk)

    assert (locked.version, found[0][0][0], found[1]) == (1, first.pk, [(1,)])
