"""Random inputs. The answer is never 5xx, accepted texts and numbers are read back as they were
sent, and refused requests change nothing. For a longer run, with new inputs each time:

pytest tests/api/test_fuzz.py --hypothesis-profile=long

Each input that fails becomes an @example here.
"""

import copy
import json
import logging
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from django.db import transaction
from hypothesis import example, given
from hypothesis import strategies as st

from tests.support import bodies
from tests.support.callers import Api
from tests.support.carts import created, shown
from tests.support.operations import CART_CHANGES, REQUESTS, send
from tests.support.table_contents import table_contents

WHOLE: dict[str, Any] = {
    "Create Cart": bodies.cart(items=2, options=2),
    "Add Item": bodies.item(options=2),
    "Update Item": bodies.item(options=2),
    "Change Cart": dict.fromkeys(CART_CHANGES, "new"),
    "Change Item": {"quantity": 3, "specialInstructions": "new"},
}

EDGES = [-1, 0, 1, 9_999, 10_000, 2**31 - 1, 2**31, -(2**31) - 1, 2**63 - 1, 2**63, -(2**63) - 1]
FLOATS = [5.0, -0.0, 0.1 + 0.2, 10.100000000000001, 1e-5, 9_999_999_999.9999, 1e10, 1e308]
TEXTS = ["", " ", "\t", "EUR", "eur", "XXX", "\0", "\ud800", "\x1b[2J", "a\nb", "\u2028", "5"]
scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=120)
    | st.sampled_from([*EDGES, *FLOATS, *TEXTS])
    | st.sampled_from([4, 20, 50, 100, 300]).flatmap(
        lambda size: st.sampled_from(["é" * size, "é" * (size + 1), "😀" * size])
    )
)
names = st.text(max_size=5) | st.sampled_from([*bodies.cart(), *bodies.item(), *bodies.option()])
any_json = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=6),
    max_leaves=20,
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the path to every member and element of a body."""
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    found = []
    for key, each in inner:
        found.append((*path, key))
        if isinstance(each, dict | list):
            found += places(each, (*path, key))
    return found


@st.composite
def nearly(draw: Callable[[Any], Any], whole: Any) -> Any:
    """Draw a valid body with one to three members changed, removed or added."""
    body = copy.deepcopy(whole)
    for _ in range(draw(st.integers(1, 3))):
        path = draw(st.sampled_from(places(body) or [()]))
        if not path:
            return draw(any_json)
        holder = body
        for key in path[:-1]:
            holder = holder[key]
        match draw(st.sampled_from(["change", "remove", "add"])):
            case "change":
                holder[path[-1]] = draw(any_json)
            case "remove":
                del holder[path[-1]]
            case "add" if isinstance(holder, dict):
                holder[draw(names)] = draw(any_json)
    return body


class Service:
    """A cart with an item as the target of requests, and the database's content before each."""

    def __init__(self) -> None:
        self.api = Api()
        self.cart = created(self.api)
        self.item = shown(self.api, self.cart)["items"][0]["itemId"]
        self.before = table_contents()

    def send(self, kind: str, text: str | bytes, **headers: str) -> Any:
        """Send a body. Return the cart as it is then, or None if it was refused or deleted."""
        cart = None
        with transaction.atomic():
            response = send(self.api, kind, self.cart, self.item, text, **headers)
            answer = json.loads(response.content)
            assert response.status_code < 500, answer
            assert response["Content-Type"] == "application/json"
            assert response["X-Request-ID"]
            assert set(answer) - {"data"} == {"message", "notifications"}
            if response.status_code != 200:
                assert "data" not in answer
                assert table_contents() == self.before
            elif kind != "Delete Cart":
                cart_id = answer["data"]["cartId"] if kind == "Create Cart" else self.cart
                cart = shown(self.api, cart_id)
            transaction.set_rollback(True)
        return cart


@pytest.fixture
def service(db: None, caplog: pytest.LogCaptureFixture) -> Service:
    caplog.set_level(logging.CRITICAL, "cartsvc.access")
    return Service()


@pytest.mark.parametrize("kind", WHOLE)
@given(data=st.data())
def test_nearly_a_body(service: Service, kind: str, data: st.DataObject) -> None:
    service.send(kind, json.dumps(data.draw(nearly(WHOLE[kind]))))


@given(
    text=st.text(st.characters(exclude_categories=[]), max_size=305),
    raw=st.booleans(),
    field=st.sampled_from(["note", "specialInstructions", "platform", "partnerKey"]),
)
@example(text="\u0130\u017f\ufb03", raw=True, field="note")
@example(text=" x ", raw=True, field="note")
def test_any_unicode(service: Service, text: str, raw: bool, field: str) -> None:
    """As the character itself or as \\u escapes."""
    body = json.dumps(bodies.cart(**{field: text}), ensure_ascii=not raw)
    cart = service.send("Create Cart", body.encode(errors="surrogatepass"))
    assert cart is None or cart[field] == text


literals = st.from_regex(
    r"-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,4})?", fullmatch=True
) | st.from_regex(r"[-+0-9.eExX_ NaIinfty]{1,8}", fullmatch=True)


@given(
    kind=st.sampled_from(["Create Cart", "Add Item", "Update Item", "Change Item"]),
    literal=literals,
    field=st.sampled_from(["price", "quantity", "menuVersion", "menuItemKey"]),
)
@example(kind="Create Cart", literal="1e400", field="price")
@example(kind="Create Cart", literal="1" * 400, field="quantity")
@example(kind="Update Item", literal="1" * 5000, field="menuItemKey")
@example(kind="Add Item", literal="9999999999.9999", field="price")
@example(kind="Add Item", literal="0.30000000000000004", field="price")
@example(kind="Add Item", literal="1E1", field="quantity")
def test_any_number_literal(service: Service, kind: str, literal: str, field: str) -> None:
    item = json.dumps(bodies.item(**{field: "LITERAL"}))
    cart = json.dumps(bodies.bare_cart(items=["ITEM"])).replace('"ITEM"', item)
    body = {"Create Cart": cart, "Change Item": f'{{"{field}": "LITERAL"}}'}.get(kind, item)
    if taken := service.send(kind, body.replace('"LITERAL"', literal)):
        # It takes nothing that Python cannot read.
        sent, read = Decimal(json.loads(literal, parse_float=str)), taken["items"][-1][field]
        if sent == round(sent, 4):
            assert read == sent
        else:  # the noise of a double
            assert read == round(Decimal(float(sent)), 4)
            assert abs(read - sent) <= sent * Decimal("1e-14")


header_values = st.text(st.characters(max_codepoint=255), max_size=60) | st.sampled_from(
    ['"1"', '"0"', "*", 'W/"1"', '"1", "2"', "Bearer", "Bearer  x", "application/json;charset=x"]
)
names_of_headers = [
    *("Authorization", "Content-Type", "Content-Encoding", "Content-Length", "Transfer-Encoding"),
    *("If-Match", "Idempotency-Key", "X-Request-ID", "X-Forwarded-Proto", "X-Forwarded-Host"),
    *("X-HTTP-Method-Override", "Host", "Accept", "Accept-Language", "Cookie", "Origin", "Expect"),
]
headers = st.dictionaries(st.sampled_from(names_of_headers), header_values, max_size=4)
kinds = st.sampled_from([*WHOLE, "Delete Cart"])


@given(kind=kinds, sent=headers)
@example(kind="Create Cart", sent={"Content-Length": "-1"})
@example(kind="Create Cart", sent={"Content-Type": "\xff/\x00"})
def test_any_header(service: Service, kind: str, sent: dict[str, str]) -> None:
    body = json.dumps(REQUESTS[kind].body or {})
    service.send(kind, body, **{name.replace("-", "_"): value for name, value in sent.items()})
