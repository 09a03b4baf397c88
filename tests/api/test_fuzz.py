"""Random inputs. The answer is never 5xx, accepted values are read back as they were sent, and
refused requests change nothing. For a longer run, with new inputs each time:

pytest tests/api/test_fuzz.py --hypothesis-profile=long

Each input that fails becomes an @example here.
"""

import copy
import json
import logging
from collections.abc import Callable
from decimal import Decimal
from typing import Any
from urllib.parse import quote

import pytest
from django.db import transaction
from hypothesis import event, example, given
from hypothesis import strategies as st

from tests.api.operations import OF_A_CHANGE, REQUESTS, send
from tests.support import bodies
from tests.support.callers import Api
from tests.support.carts import created, shown
from tests.support.stored import stored

CART_FIELDS, ITEM_FIELDS, OPTION_FIELDS = [*bodies.cart()], [*bodies.item()], [*bodies.option()]
CHANGES = {
    "change cart": dict.fromkeys(OF_A_CHANGE, "new"),
    "change item": {"quantity": 3, "specialInstructions": "new"},
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
names = st.text(max_size=5) | st.sampled_from(CART_FIELDS + ITEM_FIELDS + OPTION_FIELDS)
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
        self.seen = shown(self.api, self.cart)
        self.item = self.seen["items"][0]["itemId"]
        self.before = stored()

    def send(self, kind: str, text: str | bytes, **headers: str) -> int:
        """Send a body and check the three properties. Return the answer's status."""
        with transaction.atomic():
            response = send(self.api, kind, self.cart, self.item, text, **headers)
            answer = json.loads(response.content)
            event(f"{kind} {response.status_code}")
            assert response.status_code < 500, answer
            assert response["Content-Type"] == "application/json"
            assert response["X-Request-ID"]
            assert set(answer) - {"data"} == {"message", "notifications"}
            if response.status_code != 200:
                assert "data" not in answer
                assert stored() == self.before
            elif kind == "delete":
                assert self.api.get(f"/{self.cart}").status_code == 404
            elif kind in CHANGES:
                self.check_changed(kind, json.loads(text, parse_float=Decimal))
            else:
                self.check_taken(kind, json.loads(text, parse_float=Decimal), answer.get("data"))
            transaction.set_rollback(True)
        return int(response.status_code)

    def check_taken(self, kind: str, sent: dict[str, Any], data: Any) -> None:
        if kind == "create":
            seen = shown(self.api, data["cartId"])
            names = [name for name in CART_FIELDS if name != "items"]
            assert {name: seen[name] for name in names} == {name: sent.get(name) for name in names}
            items = sent.get("items") or []
        else:
            seen = shown(self.api, self.cart)
            items = [sent]
            seen["items"] = seen["items"][-1:]
        assert [{name: each[name] for name in ITEM_FIELDS} for each in seen["items"]] == [
            taken_item(each) for each in items
        ]

    def check_changed(self, kind: str, sent: dict[str, Any]) -> None:
        """What was sent is read back, and all else is as it was."""
        seen, before = shown(self.api, self.cart), copy.deepcopy(self.seen)
        part = before["items"][0] if kind == "change item" else before
        changes = {name: sent[name] for name in CHANGES[kind] if name in sent}
        if "quantity" in changes:
            part["value"] = part["value"] / part["quantity"] * changes["quantity"]
            before["subtotal"] = part["value"]
        if {name: part[name] for name in changes} != changes:
            before |= {"version": before["version"] + 1, "modifiedOn": seen["modifiedOn"]}
        part |= changes
        assert seen == before


@pytest.fixture
def service(db: None, caplog: pytest.LogCaptureFixture) -> Service:
    caplog.set_level(logging.CRITICAL, "cartsvc.access")
    return Service()


def taken_item(sent: dict[str, Any]) -> dict[str, Any]:
    """Return how an accepted item must be read back, without itemId and value."""
    item = {name: as_read(name, sent.get(name)) for name in ITEM_FIELDS}
    item["options"] = [
        {name: as_read(name, each.get(name)) for name in OPTION_FIELDS}
        for each in sent.get("options") or []
    ]
    return item


def as_read(name: str, sent: Any) -> Any:
    if name == "price":
        exact = Decimal(sent)
        if exact != round(exact, 4):
            exact = round(Decimal(float(exact)), 4)  # removes the noise of a double
            assert abs(exact - Decimal(sent)) <= abs(exact) * Decimal("1e-14")
        return exact
    return sent


kinds = st.sampled_from(["create", "add", "update", "change cart", "change item", "delete"])


@given(body=nearly(bodies.cart(items=2, options=2)))
@example(body=bodies.cart())
@example(body=bodies.cart(items=[bodies.item(options=[bodies.option(price=0.1 + 0.2)])]))
def test_nearly_a_cart(service: Service, body: Any) -> None:
    service.send("create", json.dumps(body))


@given(kind=st.sampled_from(["add", "update"]), body=nearly(bodies.item(options=2)))
@example(kind="update", body=bodies.item(quantity=5.0))
def test_nearly_an_item(service: Service, kind: str, body: Any) -> None:
    service.send(kind, json.dumps(body))


@given(data=st.data(), kind=st.sampled_from([*CHANGES]))
def test_nearly_a_change(service: Service, kind: str, data: st.DataObject) -> None:
    service.send(kind, json.dumps(data.draw(nearly(CHANGES[kind]))))


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
    service.send("create", body.encode(errors="surrogatepass"))


literals = st.from_regex(
    r"-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,4})?", fullmatch=True
) | st.from_regex(r"[-+0-9.eExX_ NaIinfty]{1,8}", fullmatch=True)


@given(
    kind=kinds,
    literal=literals,
    field=st.sampled_from(["price", "quantity", "menuVersion", "menuItemKey"]),
)
@example(kind="create", literal="1e400", field="price")
@example(kind="create", literal="1" * 400, field="quantity")
@example(kind="update", literal="1" * 5000, field="menuItemKey")
@example(kind="add", literal="9999999999.9999", field="price")
@example(kind="add", literal="1E1", field="quantity")
def test_any_number_literal(service: Service, kind: str, literal: str, field: str) -> None:
    item = json.dumps(bodies.item(**{field: "LITERAL"})).replace('"LITERAL"', literal)
    cart = json.dumps(bodies.bare_cart(items=["ITEM"])).replace('"ITEM"', item)
    change = f'{{"{field}": {literal}}}'
    body = change if kind in CHANGES else item if kind in {"add", "update"} else cart
    try:
        service.send(kind, body)
    except ValueError:
        # The service must not accept a body that Python cannot read.
        assert service.send(kind, body) == 400


header_values = st.text(st.characters(max_codepoint=255), max_size=60) | st.sampled_from(
    ['"1"', '"0"', "*", 'W/"1"', '"1", "2"', "Bearer", "Bearer  x", "application/json;charset=x"]
)
names_of_headers = [
    *("Authorization", "Content-Type", "Content-Encoding", "Content-Length", "Transfer-Encoding"),
    *("If-Match", "Idempotency-Key", "X-Request-ID", "X-Forwarded-Proto", "X-Forwarded-Host"),
    *("X-HTTP-Method-Override", "Host", "Accept", "Accept-Language", "Cookie", "Origin", "Expect"),
]
headers = st.dictionaries(st.sampled_from(names_of_headers), header_values, max_size=4)


@given(kind=kinds, sent=headers)
@example(kind="create", sent={"Content-Length": "-1"})
@example(kind="create", sent={"Content-Type": "\xff/\x00"})
def test_any_header(service: Service, kind: str, sent: dict[str, str]) -> None:
    body = json.dumps(REQUESTS[kind][2] or {})
    service.send(kind, body, **{name.replace("-", "_"): value for name, value in sent.items()})


segments = st.text(max_size=40) | st.sampled_from(
    ["carts", "items", "..", ".", "%00", "%2e%2e", "v2.0"]
)


@given(
    method=st.sampled_from(["GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "BREW"]),
    path=st.lists(segments, max_size=5),
    query=st.text(max_size=40),
)
def test_any_path(service: Service, method: str, path: list[str], query: str) -> None:
    rest = "/".join(quote(each, errors="replace") for each in path)
    for start in (f"/{rest}", f"?{quote(query, safe='&=', errors='replace')}"):
        response = service.api.request(method, start)
        assert response.status_code < 500
        assert method == "HEAD" or set(response.json()) - {"data"} == {"message", "notifications"}
    assert stored() == service.before
