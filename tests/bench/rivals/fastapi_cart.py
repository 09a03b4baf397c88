"""The service's operations on FastAPI, pydantic, SQLAlchemy's asynchronous ORM and asyncpg.

It has the same schema, validation and token check, as a good developer would usually write them.
"""

import json
import os
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from decimal import Decimal
from typing import Annotated, Any, Generic, TypeVar
from uuid import UUID

import jwt
from fastapi import Depends, FastAPI, HTTPException
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from iso4217 import Currency as Iso4217
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints
from pydantic.alias_generators import to_camel
from sqlalchemy import BigInteger, DateTime, ForeignKey, Numeric, String, Text, select
from sqlalchemy.ext.asyncio import AsyncSession, async_sessionmaker, create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship, selectinload
from uuid_utils.compat import uuid7

engine = create_async_engine(
    os.environ["DATABASE_URL"].replace("postgres://", "postgresql+asyncpg://")
)
new_session = async_sessionmaker(engine, expire_on_commit=False)


class Base(DeclarativeBase):
    pass


class Cart(Base):
    __tablename__ = "carts_cart"

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid7)
    profile_key: Mapped[UUID]
    partner_key: Mapped[str] = mapped_column(String(4))
    restaurant_key: Mapped[int]
    platform: Mapped[str] = mapped_column(String(50))
    ordering_channel: Mapped[str] = mapped_column(String(50))
    fulfilment_channel: Mapped[str] = mapped_column(String(50))
    currency: Mapped[str] = mapped_column(String(3))
    note: Mapped[str | None] = mapped_column(String(300))
    special_instructions: Mapped[str | None] = mapped_column(String(300))
    version: Mapped[int] = mapped_column(default=1)
    created_on: Mapped[datetime] = mapped_column(DateTime(timezone=True))
    modified_on: Mapped[datetime] = mapped_column(DateTime(timezone=True))
    history: Mapped[str] = mapped_column(Text, deferred=True)
    items: Mapped[list["CartItem"]] = relationship(
        back_populates="cart", order_by="CartItem.position", cascade="all, delete-orphan"
    )


class CartItem(Base):
    __tablename__ = "carts_cartitem"

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid7)
    cart_id: Mapped[UUID] = mapped_column(ForeignKey("carts_cart.id"))
    position: Mapped[int]
    menu_key: Mapped[str] = mapped_column(String(20))
    menu_version: Mapped[int]
    menu_item_key: Mapped[int] = mapped_column(BigInteger)
    display_name: Mapped[str] = mapped_column(String(100))
    currency: Mapped[str] = mapped_column(String(3))
    price: Mapped[Decimal] = mapped_column(Numeric(14, 4))
    quantity: Mapped[int]
    special_instructions: Mapped[str | None] = mapped_column(String(300))
    cart: Mapped[Cart] = relationship(back_populates="items")
    options: Mapped[list["CartItemOption"]] = relationship(
        order_by="CartItemOption.position", cascade="all, delete-orphan"
    )


class CartItemOption(Base):
    __tablename__ = "carts_cartitemoption"

    item_id: Mapped[UUID] = mapped_column(ForeignKey("carts_cartitem.id"), primary_key=True)
    position: Mapped[int] = mapped_column(primary_key=True)
    option_set_key: Mapped[int] = mapped_column(BigInteger)
    option_set_item_key: Mapped[int] = mapped_column(BigInteger)
    display_name: Mapped[str] = mapped_column(String(100))
    currency: Mapped[str] = mapped_column(String(3))
    price: Mapped[Decimal] = mapped_column(Numeric(14, 4))


CURRENCIES = frozenset(currency.code for currency in Iso4217)


def known_currency(code: str) -> str:
    if code not in CURRENCIES:
        raise ValueError("not an ISO 4217 currency")
    return code


def line(limit: int) -> Any:
    return Annotated[
        str,
        StringConstraints(
            strict=True,
            max_length=limit,
            pattern=r"^[^\x00-\x1f\x7f-\x9f]*[^\s\x00-\x1f\x7f-\x9f]"
            r"[^\x00-\x1f\x7f-\x9f]*$",
        ),
    ]


Paragraph = Annotated[
    str,
    StringConstraints(
        strict=True, max_length=300, pattern=r"^[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]*$"
    ),
]
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


class CartList(Wire):
    carts: list[CartSummary]


class CartCreated(Wire):
    cart_id: UUID


Data = TypeVar("Data")


class Answer(BaseModel, Generic[Data]):
    message: str
    notifications: list[dict[str, str | None]]
    data: Data | None = None


app = FastAPI()
bearer = HTTPBearer()


async def session() -> AsyncIterator[AsyncSession]:
    async with new_session() as opened:
        yield opened


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


Session = Annotated[AsyncSession, Depends(session)]
CARTS = "/v2.0/customers/{profile_key}/carts"


def answer(message: str, data: Any = None) -> Answer[Any]:
    notification = {"severity": "Success", "text": message, "code": None, "additionalData": None}
    return Answer(message=message, notifications=[notification], data=data)


def record(now: datetime, operation: str) -> str:
    return json.dumps([now.isoformat(), "bearer", "bench", None, operation, None, ""]) + "\n"


def check_currency(currency: str, items: list[ItemIn]) -> None:
    for item in items:
        if any(row.currency != currency for row in (item, *item.options)):
            raise HTTPException(400, "currency_mismatch")


def option_rows(item: ItemIn) -> list[CartItemOption]:
    return [
        CartItemOption(position=position, **option.model_dump())
        for position, option in enumerate(item.options)
    ]


def item_value(item: CartItem) -> Decimal:
    return (item.price + sum(option.price for option in item.options)) * item.quantity


def head(cart: Cart) -> dict[str, Any]:
    names = CartHead.model_fields.keys() - {"subtotal"}
    return {
        **{name: getattr(cart, name) for name in names},
        "subtotal": sum(map(item_value, cart.items)),
    }


@app.post(CARTS, dependencies=[Depends(authorised)])
async def create(profile_key: UUID, body: CartIn, session: Session) -> Answer[CartCreated]:
    check_currency(body.currency, body.items)
    now = datetime.now(UTC)
    cart = Cart(
        **body.model_dump(exclude={"items"}),
        profile_key=profile_key,
        created_on=now,
        modified_on=now,
        history=record(now, "Create Cart"),
        items=[
            CartItem(
                position=position,
                **item.model_dump(exclude={"options"}),
                options=option_rows(item),
            )
            for position, item in enumerate(body.items)
        ],
    )
    session.add(cart)
    await session.commit()
    return answer("The cart was created.", {"cart_id": cart.id})


@app.put(CARTS + "/{cart_id}/items/{item_id}", dependencies=[Depends(authorised)])
async def replace(
    profile_key: UUID, cart_id: UUID, item_id: UUID, body: ItemIn, session: Session
) -> Answer[None]:
    cart = await session.scalar(
        select(Cart).where(Cart.id == cart_id, Cart.profile_key == profile_key).with_for_update()
    )
    if cart is None:
        raise HTTPException(404)
    item = await session.scalar(
        select(CartItem)
        .where(CartItem.id == item_id, CartItem.cart_id == cart_id)
        .options(selectinload(CartItem.options))
    )
    if item is None:
        raise HTTPException(404)
    check_currency(cart.currency, [body])
    now = datetime.now(UTC)
    cart.version += 1
    cart.modified_on = now
    cart.history = Cart.history + record(now, "Update Item")
    for name, value in body.model_dump(exclude={"options"}).items():
        setattr(item, name, value)
    item.options.clear()
    await session.flush()  # otherwise the new options collide with the old ones' keys
    item.options = option_rows(body)
    await session.commit()
    return answer("The item was updated.")


@app.get(CARTS + "/{cart_id}", dependencies=[Depends(authorised)])
async def retrieve(profile_key: UUID, cart_id: UUID, session: Session) -> Answer[CartOut]:
    cart = await session.scalar(
        select(Cart)
        .where(Cart.id == cart_id, Cart.profile_key == profile_key)
        .options(selectinload(Cart.items).selectinload(CartItem.options))
    )
    if cart is None:
        raise HTTPException(404)
    items = [
        {**{name: getattr(item, name) for name in ITEM_NAMES}, "value": item_value(item)}
        for item in cart.items
    ]
    return answer("The cart was found.", {**head(cart), "items": items})


ITEM_NAMES = ItemOut.model_fields.keys() - {"value"}


@app.get(CARTS, dependencies=[Depends(authorised)])
async def list_carts(profile_key: UUID, session: Session) -> Answer[CartList]:
    carts = await session.scalars(
        select(Cart)
        .where(Cart.profile_key == profile_key)
        .order_by(Cart.id.desc())
        .limit(20)
        .options(selectinload(Cart.items).selectinload(CartItem.options))
    )
    return answer(
        "The carts were found.",
        {"carts": [{**head(cart), "item_count": len(cart.items)} for cart in carts]},
    )
