"""The service's operations on FastAPI, pydantic and hand-written SQL on asyncpg.

The same schema, validation and token check, as a team would write them that wants nothing
faster: no ORM, one statement a table, bodies written by pydantic and not validated once more.
"""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from decimal import Decimal
from typing import Annotated, Any
from uuid import UUID

import asyncpg
import jwt
from fastapi import Depends, FastAPI, HTTPException, Response
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from iso4217 import Currency as Iso4217
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints
from pydantic.alias_generators import to_camel
from pydantic_core import from_json
from uuid_utils.compat import uuid7

from tests.bench.rivals import floor

CARTS = "/v2.0/customers/{profile_key}/carts"


def known_currency(code: str) -> str:
    return Iso4217(code).code


def text(limit: int, pattern: str) -> Any:
    return Annotated[str, StringConstraints(strict=True, max_length=limit, pattern=pattern)]


def line(limit: int) -> Any:
    return text(limit, r"^[^\x00-\x1f\x7f-\x9f]*[^\s\x00-\x1f\x7f-\x9f][^\x00-\x1f\x7f-\x9f]*$")


Paragraph = text(300, r"^[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]*$")
Currency = Annotated[str, AfterValidator(known_currency)]
Int32 = Annotated[int, Field(strict=True, ge=-(2**31), lt=2**31)]
Int64 = Annotated[int, Field(strict=True, ge=-(2**63), lt=2**63)]
Quantity = Annotated[int, Field(strict=True, ge=1, le=9999)]
Price = Annotated[Decimal, Field(ge=0, le=Decimal("9999999999.9999"), decimal_places=4)]


class Wire(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, from_attributes=True)


class OptionIn(Wire):
    option_set_key: Int64
    option_set_item_key: Int64
    display_name: line(100)
    currency: Currency
    price: Price


class ItemIn(Wire):
    menu_key: line(20)
    menu_version: Int32
    menu_item_key: Int64
    display_name: line(100)
    currency: Currency
    price: Price
    quantity: Quantity
    options: list[OptionIn] = Field(default=[], max_length=100)
    special_instructions: Paragraph | None = None


class CartIn(Wire):
    partner_key: line(4)
    restaurant_key: Int32
    items: list[ItemIn] = Field(default=[], max_length=500)
    platform: line(50)
    ordering_channel: line(50)
    fulfilment_channel: line(50)
    currency: Currency
    note: Paragraph | None = None
    special_instructions: Paragraph | None = None


class OptionOut(Wire):
    option_set_key: int
    option_set_item_key: int
    display_name: str
    currency: str
    price: float


class ItemOut(Wire):
    id: UUID = Field(serialization_alias="itemId")
    menu_key: str
    menu_version: int
    menu_item_key: int
    display_name: str
    currency: str
    price: float
    quantity: int
    options: list[OptionOut]
    special_instructions: str | None
    value: float


class CartHead(Wire):
    id: UUID = Field(serialization_alias="cartId")
    profile_key: UUID
    partner_key: str
    restaurant_key: int
    platform: str
    ordering_channel: str
    fulfilment_channel: str
    currency: str
    note: str | None
    special_instructions: str | None
    subtotal: float
    created_on: datetime
    modified_on: datetime
    version: int


class CartOut(CartHead):
    items: list[ItemOut]


class CartSummary(CartHead):
    item_count: int


class Answer(BaseModel):
    message: str
    notifications: list[dict[str, str | None]]
    data: Any = None


bearer = HTTPBearer()


def authorised(credentials: Annotated[HTTPAuthorizationCredentials, Depends(bearer)]) -> None:
    try:
        claims = jwt.decode(
            credentials.credentials,
            os.environ["JWT_SIGNING_KEY"],
            algorithms=["HS256"],
            options={"require": ["exp", "sub"]},
        )
    except jwt.PyJWTError as error:
        raise HTTPException(401) from error
    if "Cart.Write" not in claims.get("scope", "").split():
        raise HTTPException(403)


def check_currency(currency: str, items: list[ItemIn]) -> None:
    for item in items:
        if any(row.currency != currency for row in (item, *item.options)):
            raise HTTPException(400, "currency_mismatch")


CART_NAMES = [name for name in CartIn.model_fields if name != "items"]
ITEM_NAMES = [name for name in ItemIn.model_fields if name != "options"]
OPTION_NAMES = list(OptionIn.model_fields)

LOOK = f"SELECT {', '.join(ITEM_NAMES)}, value FROM carts_cartitem WHERE id = $1 AND cart_id = $2"
LOOK_OPTIONS = f"""
SELECT {", ".join(OPTION_NAMES)} FROM carts_cartitemoption WHERE item_id = $1 ORDER BY position
"""
HEAD = ", ".join(CartSummary.model_fields)
READ = f"""
SELECT {HEAD}, (
    SELECT json_agg(json_build_array(
        i.id, {", ".join(ITEM_NAMES)}, i.value, (
            SELECT json_agg(json_build_array({", ".join(OPTION_NAMES)}) ORDER BY o.position)
            FROM carts_cartitemoption o WHERE o.item_id = i.id
        )
    ) ORDER BY i.position)
    FROM carts_cartitem i WHERE i.cart_id = c.id
) AS rows
FROM carts_cart c WHERE id = $1 AND profile_key = $2
"""
LIST = f"SELECT {HEAD} FROM carts_cart WHERE profile_key = $1 ORDER BY id DESC LIMIT 20"


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


def answer(message: str, data: Any = None) -> Response:
    notification = {"severity": "Success", "text": message, "code": None, "additionalData": None}
    body = Answer(message=message, notifications=[notification], data=data)
    return Response(body.model_dump_json(by_alias=True), media_type="application/json")


def value(item: Any) -> Decimal:
    return (item.price + sum(option.price for option in item.options)) * item.quantity


def values(sent: Wire, names: list[str]) -> list[Any]:
    return [getattr(sent, name) for name in names]


def option_rows(profile_key: UUID, item_id: UUID, item: ItemIn) -> list[tuple[Any, ...]]:
    return [
        (profile_key, item_id, position, *values(option, OPTION_NAMES))
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
        keys = profile_key, item_id, cart_id, position
        items.append((*keys, *values(item, ITEM_NAMES), value(item)))
        options += option_rows(profile_key, item_id, item)
    totals = len(items), len(options), sum(map(value, body.items), Decimal(0))
    row = cart_id, profile_key, *values(body, CART_NAMES), *totals, now, now, *floor.AUTHOR
    async with app.state.pool.acquire() as connection, connection.transaction():
        await connection.execute(floor.INSERT_CART, *row)
        await insert(connection, floor.INSERT_ITEMS, items)
        await insert(connection, floor.INSERT_OPTIONS, options)
    return answer("The cart was created.", {"cartId": cart_id})


@app.put(CARTS + "/{cart_id}/items/{item_id}", dependencies=[Depends(authorised)])
async def replace(profile_key: UUID, cart_id: UUID, item_id: UUID, body: ItemIn) -> Response:
    check_currency(body.currency, [body])
    now, new_value = datetime.now(UTC), value(body)
    async with app.state.pool.acquire() as connection, connection.transaction():
        cart = await connection.fetchrow(floor.LOCK, cart_id, profile_key, body.currency)
        item = cart and await connection.fetchrow(LOOK, item_id, cart_id)
        if item is None:
            raise HTTPException(404)
        options = await connection.fetch(LOOK_OPTIONS, item_id)
        version = cart["version"] + 1
        count = cart["option_count"] - len(options) + len(body.options)
        subtotal = cart["subtotal"] - item["value"] + new_value
        before, after = floor.difference(
            {**item, "options": list(map(dict, options))}, body.model_dump()
        )
        await connection.execute(floor.UPDATE_CART, version, count, subtotal, now, cart_id)
        await connection.execute(floor.UPDATE_ITEM, *values(body, ITEM_NAMES), new_value, item_id)
        await connection.execute(floor.DELETE_OPTIONS, item_id)
        await insert(connection, floor.INSERT_OPTIONS, option_rows(profile_key, item_id, body))
        await connection.execute(
            floor.INSERT_CHANGE,
            *(profile_key, cart_id, version, now, *floor.AUTHOR, "Update Item"),
            *(item_id, body.display_name, before, after, cart["subtotal"], subtotal),
        )
        if version > floor.MAX_CHANGES + 1:
            await connection.execute(floor.DELETE_CHANGE, cart_id, version - floor.MAX_CHANGES)
    return answer("The item was updated.")


@app.get(CARTS + "/{cart_id}", dependencies=[Depends(authorised)])
async def retrieve(profile_key: UUID, cart_id: UUID) -> Response:
    cart = await app.state.pool.fetchrow(READ, cart_id, profile_key)
    if cart is None:
        raise HTTPException(404)
    items = [item_out(row) for row in from_json(cart["rows"] or "[]")]
    return answer("The cart was found.", CartOut.model_validate({**cart, "items": items}))


def item_out(row: list[Any]) -> dict[str, Any]:
    item_id, *members, worth, options = row
    item = dict(zip(ITEM_NAMES, members, strict=True), id=item_id, value=worth)
    item["options"] = [dict(zip(OPTION_NAMES, option, strict=True)) for option in options or ()]
    return item


@app.get(CARTS, dependencies=[Depends(authorised)])
async def list_carts(profile_key: UUID) -> Response:
    rows = await app.state.pool.fetch(LIST, profile_key)
    carts = [CartSummary.model_validate(dict(row)) for row in rows]
    return answer("The carts were found.", {"carts": carts})
