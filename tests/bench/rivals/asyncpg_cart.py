"""The service's operations on FastAPI, pydantic and hand-written SQL on asyncpg.

The same schema, validation and token check as `fastapi_cart`, as a team would write them that
wants nothing faster: no ORM, one statement a table, bodies written by pydantic and not
validated once more.
"""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

import asyncpg
from fastapi import Depends, FastAPI, HTTPException, Response
from pydantic import BaseModel
from pydantic_core import from_json
from uuid_utils.compat import uuid7

from tests.bench.rivals.changes import AUTHOR, MAX_CHANGES, difference
from tests.bench.rivals.wire import (
    CARTS,
    Answer,
    CartCreated,
    CartIn,
    CartList,
    CartOut,
    CartSummary,
    ItemIn,
    ItemOut,
    OptionIn,
    authorised,
    check_currency,
)

HEAD = """
    id, profile_key, partner_key, restaurant_key, platform, ordering_channel, fulfilment_channel,
    currency, note, special_instructions, subtotal, created_on, modified_on, version, item_count
"""
INSERT_CART = """
INSERT INTO carts_cart (
    id, profile_key, partner_key, restaurant_key, platform, ordering_channel,
    fulfilment_channel, currency, note, special_instructions, version, item_count,
    option_count, subtotal, created_on, modified_on, created_by_kind, created_by_name,
    created_request_id
) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 1, $11, $12, $13, $14, $14, $15, $16, $17)
"""
INSERT_ITEMS = """
INSERT INTO carts_cartitem (
    id, cart_id, position, menu_key, menu_version, menu_item_key, display_name, currency, price,
    quantity, special_instructions, value
) SELECT * FROM unnest(
    $1::uuid[], $2::uuid[], $3::int[], $4::text[], $5::int[], $6::bigint[], $7::text[],
    $8::text[], $9::numeric[], $10::int[], $11::text[], $12::numeric[]
)
"""
INSERT_OPTIONS = """
INSERT INTO carts_cartitemoption (
    item_id, position, option_set_key, option_set_item_key, display_name, currency, price
) SELECT * FROM unnest(
    $1::uuid[], $2::int[], $3::bigint[], $4::bigint[], $5::text[], $6::text[], $7::numeric[]
)
"""
LOCK = """
SELECT version, option_count, subtotal FROM carts_cart
WHERE id = $1 AND profile_key = $2 AND currency = $3 FOR UPDATE
"""
LOOK = """
SELECT menu_key, menu_version, menu_item_key, display_name, currency, price, quantity,
    special_instructions, value
FROM carts_cartitem WHERE id = $1 AND cart_id = $2
"""
LOOK_OPTIONS = """
SELECT option_set_key, option_set_item_key, display_name, currency, price
FROM carts_cartitemoption WHERE item_id = $1 ORDER BY position
"""
UPDATE_CART = """
UPDATE carts_cart SET version = $1, option_count = $2, subtotal = $3, modified_on = $4 WHERE id = $5
"""
UPDATE_ITEM = """
UPDATE carts_cartitem SET menu_key = $1, menu_version = $2, menu_item_key = $3,
    display_name = $4, currency = $5, price = $6, quantity = $7, special_instructions = $8,
    value = $9
WHERE id = $10
"""
DELETE_OPTIONS = "DELETE FROM carts_cartitemoption WHERE item_id = $1"
INSERT_CHANGE = """
INSERT INTO carts_cartchange (
    cart_id, version, at, author_kind, author_name, request_id, operation, item_id, item_name,
    before, after, subtotal_before, subtotal_after
) VALUES ($1, $2, $3, $4, $5, $6, 'Update Item', $7, $8, $9, $10, $11, $12)
"""
DELETE_CHANGE = "DELETE FROM carts_cartchange WHERE cart_id = $1 AND version = $2"
READ = f"""
SELECT {HEAD}, (
    SELECT json_agg(json_build_array(
        i.id, i.menu_key, i.menu_version, i.menu_item_key, i.display_name, i.currency, i.price,
        i.quantity, i.special_instructions, i.value, (
            SELECT json_agg(json_build_array(
                o.option_set_key, o.option_set_item_key, o.display_name, o.currency, o.price
            ) ORDER BY o.position)
            FROM carts_cartitemoption o WHERE o.item_id = i.id
        )
    ) ORDER BY i.position)
    FROM carts_cartitem i WHERE i.cart_id = c.id
) AS rows
FROM carts_cart c WHERE id = $1 AND profile_key = $2
"""
LIST = f"SELECT {HEAD} FROM carts_cart WHERE profile_key = $1 ORDER BY id DESC LIMIT 20"

ITEM_NAMES = [name for name in ItemOut.model_fields if name != "options"]
OPTION_NAMES = list(OptionIn.model_fields)


async def nothing_to_reset(_: asyncpg.Connection) -> None:
    """Leave the connection as it is: no session is changed."""


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    # The pool would send four statements with each connection that it gets back.
    async with asyncpg.create_pool(
        os.environ["DATABASE_URL"], min_size=4, reset=nothing_to_reset
    ) as pool:
        app.state.pool = pool
        yield


app = FastAPI(lifespan=lifespan)


def answer(message: str, data: BaseModel | None = None) -> Response:
    notification = {"severity": "Success", "text": message, "code": None, "additionalData": None}
    body = Answer[Any](message=message, notifications=[notification], data=data)
    return Response(body.model_dump_json(by_alias=True), media_type="application/json")


def value(item: Any) -> Decimal:
    return (item.price + sum(option.price for option in item.options)) * item.quantity


def option_rows(item_id: UUID, item: ItemIn) -> list[tuple[Any, ...]]:
    return [
        (item_id, position, *(getattr(option, name) for name in OPTION_NAMES))
        for position, option in enumerate(item.options)
    ]


async def insert(connection: asyncpg.Connection, sql: str, rows: list[tuple[Any, ...]]) -> None:
    if rows:
        await connection.execute(sql, *map(list, zip(*rows, strict=True)))


@app.post(CARTS, dependencies=[Depends(authorised)])
async def create(profile_key: UUID, body: CartIn) -> Response:
    check_currency(body.currency, body.items)
    cart_id, now = uuid7(), datetime.now(UTC)
    items, options = [], []
    for position, item in enumerate(body.items):
        item_id = uuid7()
        items.append(
            (
                item_id,
                cart_id,
                position,
                item.menu_key,
                item.menu_version,
                item.menu_item_key,
                item.display_name,
                item.currency,
                item.price,
                item.quantity,
                item.special_instructions,
                value(item),
            )
        )
        options += option_rows(item_id, item)
    async with app.state.pool.acquire() as connection, connection.transaction():
        await connection.execute(
            INSERT_CART,
            cart_id,
            profile_key,
            body.partner_key,
            body.restaurant_key,
            body.platform,
            body.ordering_channel,
            body.fulfilment_channel,
            body.currency,
            body.note,
            body.special_instructions,
            len(items),
            len(options),
            sum(map(value, body.items), Decimal(0)),
            now,
            *AUTHOR,
        )
        await insert(connection, INSERT_ITEMS, items)
        await insert(connection, INSERT_OPTIONS, options)
    return answer("The cart was created.", CartCreated(cart_id=cart_id))


@app.put(CARTS + "/{cart_id}/items/{item_id}", dependencies=[Depends(authorised)])
async def replace(profile_key: UUID, cart_id: UUID, item_id: UUID, body: ItemIn) -> Response:
    check_currency(body.currency, [body])
    now, new_value = datetime.now(UTC), value(body)
    async with app.state.pool.acquire() as connection, connection.transaction():
        cart = await connection.fetchrow(LOCK, cart_id, profile_key, body.currency)
        item = cart and await connection.fetchrow(LOOK, item_id, cart_id)
        if item is None:
            raise HTTPException(404)
        options = await connection.fetch(LOOK_OPTIONS, item_id)
        version = cart["version"] + 1
        subtotal = cart["subtotal"] - item["value"] + new_value
        before, after = difference({**item, "options": list(map(dict, options))}, body.model_dump())
        await connection.execute(
            UPDATE_CART,
            version,
            cart["option_count"] - len(options) + len(body.options),
            subtotal,
            now,
            cart_id,
        )
        await connection.execute(
            UPDATE_ITEM,
            body.menu_key,
            body.menu_version,
            body.menu_item_key,
            body.display_name,
            body.currency,
            body.price,
            body.quantity,
            body.special_instructions,
            new_value,
            item_id,
        )
        await connection.execute(DELETE_OPTIONS, item_id)
        await insert(connection, INSERT_OPTIONS, option_rows(item_id, body))
        await connection.execute(
            INSERT_CHANGE,
            *(cart_id, version, now, *AUTHOR),
            *(item_id, body.display_name, before, after, cart["subtotal"], subtotal),
        )
        if version > MAX_CHANGES + 1:
            await connection.execute(DELETE_CHANGE, cart_id, version - MAX_CHANGES)
    return answer("The item was updated.")


@app.get(CARTS + "/{cart_id}", dependencies=[Depends(authorised)])
async def retrieve(profile_key: UUID, cart_id: UUID) -> Response:
    cart = await app.state.pool.fetchrow(READ, cart_id, profile_key)
    if cart is None:
        raise HTTPException(404)
    items = [item_out(*row) for row in from_json(cart["rows"] or "[]")]
    return answer("The cart was found.", CartOut.model_validate({**cart, "items": items}))


def item_out(*row: Any) -> dict[str, Any]:
    *values, options = row
    item = dict(zip(ITEM_NAMES, values, strict=True))
    item["options"] = [dict(zip(OPTION_NAMES, option, strict=True)) for option in options or ()]
    return item


@app.get(CARTS, dependencies=[Depends(authorised)])
async def list_carts(profile_key: UUID) -> Response:
    rows = await app.state.pool.fetch(LIST, profile_key)
    carts = [CartSummary.model_validate(dict(row)) for row in rows]
    return answer("The carts were found.", CartList(carts=carts))
