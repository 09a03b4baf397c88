"""Every statement of the six operations names the customer, or is listed with why it need not.

A database spread over machines by `profile_key` finds a statement's machine by it. The
operators' page says what follows from this list (cartsvc/README.md, Larger than one primary).
"""

import re
from collections.abc import Iterator

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from carts.models import Cart
from tests.support import bodies
from tests.support.callers import STRANGER, Api
from tests.support.carts import created, shown

pytestmark = pytest.mark.django_db(transaction=True)

# The tables that have the column, and the others, by the column that names their parent.
NAMED = {"carts_cart", "carts_idempotencyrecord"}
PARENTS = {"carts_cartitem": "cart_id", "carts_cartitemoption": "item_id"}

# PostgreSQL compares a key of two columns at once.
CONDITION = re.compile(r'"profile_key"(?:, "\w+"\."\w+"\))? = ')

AFTER_CLAIM = "the claim of its cart, in the same transaction, names the customer"
NEED_NOT = {
    "INSERT carts_cartitem": AFTER_CLAIM,  # or the INSERT of the cart
    "INSERT carts_cartitemoption": AFTER_CLAIM,
    "UPDATE carts_cartitem": AFTER_CLAIM,
    "DELETE carts_cartitem": AFTER_CLAIM,
    "DELETE carts_cartitemoption": AFTER_CLAIM,
    "SELECT carts_cartitem": "the same; before the claim, it only words the history of a removal",
    "SELECT carts_cartitemoption": AFTER_CLAIM,
    "UPDATE carts_cart": "a subquery reads the version of the very row that it updates, by its id",
}


@pytest.fixture
def transactions(settings: Settings) -> list[list[str]]:
    """Return what the six operations send, by transaction: done, replayed and refused."""
    api = Api()
    items = {"items": 2, "options": 2}
    with CaptureQueriesContext(connection) as captured:
        cart = created(api, bodies.cart(**items))
        api.post(body=bodies.bare_cart())
        for _ in range(2):
            api.post(body=bodies.cart(**items), Idempotency_Key="key-1")
            api.post(f"/{cart}/items", bodies.item(options=2), Idempotency_Key="key-2")
        item = shown(api, cart)["items"][0]["itemId"]
        api.get(f"/{cart}", If_None_Match='"2"')
        cursor = api.get("?limit=1").json()["data"]["nextCursor"]
        api.get(f"?limit=1&cursor={cursor}")
        usd = bodies.item(options=[bodies.option(currency="USD")])
        answers = [
            api.put(f"/{cart}/items/{item}", bodies.item(options=2)),
            api.put(f"/{cart}/items/{item}", bodies.item(), If_Match='"1"'),
            api.put(f"/{cart}/items/{STRANGER}", bodies.item()),
            api.put(f"/{STRANGER}/items/{item}", bodies.item()),
            api.put(f"/{cart}/items/{item}", usd),
        ]
        settings.MAX_ITEMS = settings.MAX_CART_OPTIONS = 1
        answers += [
            api.put(f"/{cart}/items/{item}", bodies.item(options=5)),
            api.post(f"/{cart}/items", bodies.item()),
            api.delete(f"/{cart}/items/{item}", If_Match='"1"'),
            api.delete(f"/{cart}/items/{item}"),
        ]
    assert [each.status_code for each in answers] == [200, 412, 404, 404, 400, 400, 400, 412, 200]
    Cart.objects.update(item_count=None)  # as an earlier release left it
    with CaptureQueriesContext(connection) as uncounted:
        api.get()
    return list(grouped([query["sql"] for query in [*captured, *uncounted]]))


def grouped(statements: list[str]) -> Iterator[list[str]]:
    """Give the statements of each transaction, and each statement outside of them."""
    group: list[str] | None = None
    for statement in statements:
        verb = statement.split()[0].rstrip(";")
        if verb == "BEGIN":
            group = []
        elif verb in {"COMMIT", "ROLLBACK"} and group is not None and " TO " not in statement:
            yield group
            group = None
        elif verb not in {"SAVEPOINT", "RELEASE", "ROLLBACK"}:
            if group is None:
                yield [statement]
            else:
                group.append(statement)


def tables(statement: str) -> list[str]:
    return re.findall(r'\b(?:FROM|JOIN|UPDATE|INTO) "(\w+)"', statement)


def shape(statement: str) -> str:
    verb = statement.split(maxsplit=1)[0]
    # A SELECT names its subqueries' tables before its own.
    return f"{verb} {tables(statement)[-1 if verb == 'SELECT' else 0]}"


def names_customer(statement: str) -> bool:
    """Return whether each mention of a table that has the column comes with the column."""
    mentioned = sum(table in NAMED for table in tables(statement))
    into, inserted, _ = statement.partition(" VALUES ")
    given = '"profile_key"' in into if inserted and statement.startswith("INSERT") else False
    found = len(CONDITION.findall(statement)) + given
    return 0 < mentioned <= found


def test_each_statement_names_the_customer_or_is_listed(transactions: list[list[str]]) -> None:
    statements = [each for transaction in transactions for each in transaction]
    assert {shape(each) for each in statements if not names_customer(each)} == NEED_NOT.keys()


def test_no_transaction_writes_without_naming_the_customer(transactions: list[list[str]]) -> None:
    for transaction in transactions:
        assert any("profile_key" in each for each in transaction), transaction


def test_what_does_not_name_the_customer_names_one_cart_or_item(
    transactions: list[list[str]],
) -> None:
    """So its rows are one customer's, and it would find their machine if they had the column."""
    for transaction in transactions:
        for each in transaction:
            table = shape(each).split()[1]
            if table in PARENTS and not each.startswith("INSERT"):
                condition = each.rpartition(" WHERE ")[2]
                assert re.search(rf'"({PARENTS[table]}|id)" (=|IN) ', condition), each
