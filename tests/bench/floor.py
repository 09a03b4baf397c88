"""The floor: the cost of the database and a bare WSGI application.

It has the service's schema and writes, in hand-written SQL on raw psycopg. It has no
framework, no validation and no authentication.
"""

import json
import os
import threading
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import psycopg
from uuid_utils.compat import uuid7

local = threading.local()

# The latest changes of a cart that are kept; the kind and name of their author, and the request.
MAX_CHANGES = 100
AUTHOR = ("bearer", "bench", "01890a5d-ac96-774b-bcce-b302099a8057")

INSERT_CART = """
INSERT INTO carts_cart (
    id, profile_key, partner_key, restaurant_key, platform, ordering_channel,
    fulfilment_channel, currency, note, special_instructions, version, item_count,
    option_count, subtotal, created_on, modified_on, created_by_kind, created_by_name,
    created_request_id
) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 1, $11, $12, $13, $14, $15, $16, $17, $18)
"""
INSERT_ITEMS = """
INSERT INTO carts_cartitem (
    profile_key, id, cart_id, position, menu_key, menu_version, menu_item_key, display_name,
    currency, price, quantity, special_instructions, value
) SELECT * FROM unnest(
    $1::uuid[], $2::uuid[], $3::uuid[], $4::int[], $5::text[], $6::int[], $7::bigint[], $8::text[],
    $9::text[], $10::numeric[], $11::int[], $12::text[], $13::numeric[]
)
"""
INSERT_OPTIONS = """
INSERT INTO carts_cartitemoption (
    profile_key, item_id, position, option_set_key, option_set_item_key, display_name, currency,
    price
) SELECT * FROM unnest(
    $1::uuid[], $2::uuid[], $3::int[], $4::bigint[], $5::bigint[], $6::text[], $7::text[],
    $8::numeric[]
)
"""
LOCK = """
SELECT version, option_count, subtotal FROM carts_cart
WHERE id = $1 AND profile_key = $2 AND currency = $3 FOR UPDATE
"""
LOOK = """
SELECT i.value, i.menu_key, i.menu_version, i.menu_item_key, i.display_name, i.currency, i.price,
    i.quantity, i.special_instructions, o.option_set_key, o.option_set_item_key, o.display_name,
    o.currency, o.price
FROM carts_cartitem i LEFT JOIN carts_cartitemoption o ON o.item_id = i.id
WHERE i.id = $1 AND i.cart_id = $2 ORDER BY o.position
"""
UPDATE_CART = """
UPDATE carts_cart SET version = $1, option_count = $2, subtotal = $3, modified_on = $4 WHERE id = $5
"""
UPDATE_ITEM = """
UPDATE carts_cartitem SET (
    menu_key, menu_version, menu_item_key, display_name, currency, price, quantity,
    special_instructions, value
) = ($1, $2, $3, $4, $5, $6, $7, $8, $9) WHERE id = $10
"""
DELETE_OPTIONS = "DELETE FROM carts_cartitemoption WHERE item_id = $1"
INSERT_CHANGE = """
INSERT INTO carts_cartchange (
    profile_key, cart_id, version, at, author_kind, author_name, request_id, operation, item_id,
    item_name, before, after, subtotal_before, subtotal_after
) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
"""
DELETE_CHANGE = "DELETE FROM carts_cartchange WHERE cart_id = $1 AND version = $2"

HEAD = """
    'cartId', c.id, 'profileKey', c.profile_key, 'partnerKey', c.partner_key,
    'restaurantKey', c.restaurant_key, 'platform', c.platform,
    'orderingChannel', c.ordering_channel, 'fulfilmentChannel', c.fulfilment_channel,
    'currency', c.currency, 'note', c.note, 'specialInstructions', c.special_instructions,
    'subtotal', c.subtotal, 'createdOn', c.created_on, 'modifiedOn', c.modified_on,
    'version', c.version
"""
READ = f"""
SELECT json_build_object({HEAD}, 'items', coalesce(i.rows, '[]'))
FROM carts_cart c, LATERAL (
    SELECT json_agg(json_build_object(
            'itemId', i.id, 'menuKey', i.menu_key, 'menuVersion', i.menu_version,
            'menuItemKey', i.menu_item_key, 'displayName', i.display_name,
            'currency', i.currency, 'price', i.price, 'quantity', i.quantity,
            'specialInstructions', i.special_instructions, 'options', coalesce(o.rows, '[]'),
            'value', i.value
        ) ORDER BY i.position) AS rows
    FROM carts_cartitem i, LATERAL (
        SELECT json_agg(json_build_object(
            'optionSetKey', o.option_set_key, 'optionSetItemKey', o.option_set_item_key,
            'displayName', o.display_name, 'currency', o.currency, 'price', o.price
        ) ORDER BY o.position) AS rows
        FROM carts_cartitemoption o WHERE o.item_id = i.id
    ) o
    WHERE i.cart_id = c.id
) i
WHERE c.id = $1 AND c.profile_key = $2
"""
LIST = f"""
SELECT json_build_object('carts', json_agg(cart)) FROM (
    SELECT json_build_object({HEAD}, 'itemCount', c.item_count) AS cart
    FROM carts_cart c WHERE c.profile_key = $1 ORDER BY c.id DESC LIMIT 20
) carts
"""

CART = (
    *("partnerKey", "restaurantKey", "platform", "orderingChannel", "fulfilmentChannel"),
    *("currency", "note", "specialInstructions"),
)
ITEM = (
    *("menuKey", "menuVersion", "menuItemKey", "displayName", "currency", "price", "quantity"),
    "specialInstructions",
)
OPTION = ("optionSetKey", "optionSetItemKey", "displayName", "currency", "price")


def connection() -> psycopg.Connection:
    if not hasattr(local, "connection"):
        local.connection = psycopg.connect(
            os.environ["DATABASE_URL"], autocommit=True, cursor_factory=psycopg.RawCursor
        )
        # The answers are sent as the database wrote them.
        local.connection.adapters.register_loader("json", psycopg.types.string.TextLoader)
    return local.connection


def application(environ: dict[str, Any], start_response: Callable[..., object]) -> Iterable[bytes]:
    path = environ["PATH_INFO"].split("/")
    profile_key = path[3]
    match environ["REQUEST_METHOD"], path[5:]:
        case "POST", []:
            data = create(profile_key, body(environ))
        case "PUT", [cart_id, "items", item_id]:
            data = replace(profile_key, cart_id, item_id, body(environ))
        case "GET", [cart_id]:
            data = connection().execute(READ, (cart_id, profile_key)).fetchone()[0]
        case "GET", []:
            data = connection().execute(LIST, (profile_key,)).fetchone()[0]
    answer = f'{{"message":"Done.","notifications":[],"data":{data}}}'.encode()
    start_response(
        "200 OK", [("Content-Type", "application/json"), ("Content-Length", str(len(answer)))]
    )
    return [answer]


def body(environ: dict[str, Any]) -> Any:
    sent = environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"]))
    return json.loads(sent, parse_float=Decimal)


def value(item: dict[str, Any]) -> Decimal:
    return (item["price"] + sum(option["price"] for option in item["options"])) * item["quantity"]


def members(sent: dict[str, Any], names: tuple[str, ...]) -> list[Any]:
    return [sent.get(name) for name in names]


def option_rows(profile_key: str, item_id: object, item: dict[str, Any]) -> list[tuple[Any, ...]]:
    return [
        (profile_key, item_id, position, *members(option, OPTION))
        for position, option in enumerate(item["options"])
    ]


def create(profile_key: str, cart: dict[str, Any]) -> str:
    cart_id, now, sent = uuid7(), datetime.now(UTC), cart.get("items", ())
    items, options = [], []
    for position, item in enumerate(sent):
        item_id = uuid7()
        keys = profile_key, item_id, cart_id, position
        items.append((*keys, *members(item, ITEM), value(item)))
        options += option_rows(profile_key, item_id, item)
    totals = len(items), len(options), sum(map(value, sent))
    values = cart_id, profile_key, *members(cart, CART), *totals, now, now, *AUTHOR
    with connection().transaction():
        connection().execute(INSERT_CART, values)
        insert(INSERT_ITEMS, items)
        insert(INSERT_OPTIONS, options)
    return f'{{"cartId":"{cart_id}"}}'


def replace(profile_key: str, cart_id: str, item_id: str, item: dict[str, Any]) -> str:
    now, new_value = datetime.now(UTC), value(item)
    values, options = members(item, ITEM), item["options"]
    execute = connection().execute
    with connection().transaction():
        cart = execute(LOCK, (cart_id, profile_key, item["currency"])).fetchone()
        rows = execute(LOOK, (item_id, cart_id)).fetchall()
        version, option_count, subtotal = cart
        old_value, *old_values = rows[0][:9]
        old_options = [
            dict(zip(OPTION, row[9:], strict=True)) for row in rows if row[9] is not None
        ]
        new_count = option_count - len(old_options) + len(options)
        new_subtotal = subtotal - old_value + new_value
        before, after = difference(
            {**dict(zip(ITEM, old_values, strict=True)), "options": old_options},
            {**dict(zip(ITEM, values, strict=True)), "options": options},
        )
        execute(UPDATE_CART, (version + 1, new_count, new_subtotal, now, cart_id))
        execute(UPDATE_ITEM, (*values, new_value, item_id))
        execute(DELETE_OPTIONS, (item_id,))
        insert(INSERT_OPTIONS, option_rows(profile_key, item_id, item))
        change = profile_key, cart_id, version + 1, now, *AUTHOR, "Update Item", item_id
        totals = subtotal, new_subtotal
        execute(INSERT_CHANGE, (*change, item["displayName"], before, after, *totals))
        if version > MAX_CHANGES:
            execute(DELETE_CHANGE, (cart_id, version + 1 - MAX_CHANGES))
    return "null"


def difference(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[str, str]:
    """Return the members that differ as JSON, as they were and as they are."""
    changed = [name for name in after if before[name] != after[name]]
    return encoded(before, changed), encoded(after, changed)


def encoded(values: Mapping[str, Any], names: list[str]) -> str:
    chosen = {name: values[name] for name in names}
    return json.dumps(chosen, ensure_ascii=False, separators=(",", ":"), default=float)


def insert(statement: str, rows: list[tuple[Any, ...]]) -> None:
    if rows:
        connection().execute(statement, [list(column) for column in zip(*rows, strict=True)])
