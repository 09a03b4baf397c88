"""The service's operations on FastAPI, pydantic, SQLAlchemy's asynchronous ORM and asyncpg.

It has the same schema, validation and token check, as a good developer would usually write them.
"""

import os
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from decimal import Decimal
from typing import Annotated, Any
from uuid import UUID

from fastapi import Depends, FastAPI, HTTPException
from sqlalchemy import BigInteger, DateTime, ForeignKey, Numeric, String, Text, delete, select
from sqlalchemy.ext.asyncio import AsyncSession, async_sessionmaker, create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship, selectinload
from uuid_utils.compat import uuid7

from tests.bench.rivals.changes import AUTHOR, MAX_CHANGES, difference
from tests.bench.rivals.wire import (
    CARTS,
    ITEM_NAMES,
    Answer,
    CartCreated,
    CartHead,
    CartIn,
    CartList,
    CartOut,
    ItemIn,
    OptionIn,
    answer,
    authorised,
    check_currency,
)

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
    item_count: Mapped[int]
    option_count: Mapped[int]
    subtotal: Mapped[Decimal] = mapped_column(Numeric(28, 4))
    created_on: Mapped[datetime] = mapped_column(DateTime(timezone=True))
    modified_on: Mapped[datetime] = mapped_column(DateTime(timezone=True))
    created_by_kind: Mapped[str] = mapped_column(String(6), default=AUTHOR[0])
    created_by_name: Mapped[str] = mapped_column(String(80), default=AUTHOR[1])
    created_request_id: Mapped[str | None] = mapped_column(String(64), default=AUTHOR[2])
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
    value: Mapped[Decimal] = mapped_column(Numeric(28, 4))
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


class CartChange(Base):
    __tablename__ = "carts_cartchange"

    cart_id: Mapped[UUID] = mapped_column(ForeignKey("carts_cart.id"), primary_key=True)
    version: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    at: Mapped[datetime] = mapped_column(DateTime(timezone=True))
    author_kind: Mapped[str] = mapped_column(String(6), default=AUTHOR[0])
    author_name: Mapped[str] = mapped_column(String(80), default=AUTHOR[1])
    request_id: Mapped[str | None] = mapped_column(String(64), default=AUTHOR[2])
    operation: Mapped[str] = mapped_column(String(20))
    item_id: Mapped[UUID | None]
    item_name: Mapped[str | None] = mapped_column(String(100))
    before: Mapped[str] = mapped_column(Text)
    after: Mapped[str] = mapped_column(Text)
    subtotal_before: Mapped[Decimal] = mapped_column(Numeric(28, 4))
    subtotal_after: Mapped[Decimal] = mapped_column(Numeric(28, 4))


app = FastAPI()


async def session() -> AsyncIterator[AsyncSession]:
    async with new_session() as opened:
        yield opened


Session = Annotated[AsyncSession, Depends(session)]


def option_rows(item: ItemIn) -> list[CartItemOption]:
    return [
        CartItemOption(position=position, **option.model_dump())
        for position, option in enumerate(item.options)
    ]


def item_value(item: ItemIn) -> Decimal:
    return (item.price + sum(option.price for option in item.options)) * item.quantity


def head(cart: Cart) -> dict[str, Any]:
    return {name: getattr(cart, name) for name in CartHead.model_fields}


@app.post(CARTS, dependencies=[Depends(authorised)])
async def create(profile_key: UUID, body: CartIn, session: Session) -> Answer[CartCreated]:
    check_currency(body.currency, body.items)
    now = datetime.now(UTC)
    cart = Cart(
        **body.model_dump(exclude={"items"}),
        profile_key=profile_key,
        created_on=now,
        modified_on=now,
        item_count=len(body.items),
        option_count=sum(len(item.options) for item in body.items),
        subtotal=sum(map(item_value, body.items)),
        items=[
            CartItem(
                position=position,
                value=item_value(item),
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
    sent, now, subtotal = body.model_dump(), datetime.now(UTC), cart.subtotal
    before, after = difference(
        {
            **{name: getattr(item, name) for name in sent},
            "options": [
                {name: getattr(option, name) for name in OptionIn.model_fields}
                for option in item.options
            ],
        },
        sent,
    )
    cart.version += 1
    cart.modified_on = now
    cart.option_count += len(body.options) - len(item.options)
    cart.subtotal += item_value(body) - item.value
    item.value = item_value(body)
    for name in ItemIn.model_fields.keys() - {"options"}:
        setattr(item, name, sent[name])
    item.options.clear()
    await session.flush()  # otherwise the new options collide with the old ones' keys
    item.options = option_rows(body)
    session.add(
        CartChange(
            cart_id=cart.id,
            version=cart.version,
            at=now,
            operation="Update Item",
            item_id=item.id,
            item_name=item.display_name,
            before=before,
            after=after,
            subtotal_before=subtotal,
            subtotal_after=cart.subtotal,
        )
    )
    if cart.version > MAX_CHANGES + 1:
        await session.execute(
            delete(CartChange).where(
                CartChange.cart_id == cart.id, CartChange.version == cart.version - MAX_CHANGES
            )
        )
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
    items = [{name: getattr(item, name) for name in ITEM_NAMES} for item in cart.items]
    return answer("The cart was found.", {**head(cart), "items": items})


@app.get(CARTS, dependencies=[Depends(authorised)])
async def list_carts(profile_key: UUID, session: Session) -> Answer[CartList]:
    carts = await session.scalars(
        select(Cart).where(Cart.profile_key == profile_key).order_by(Cart.id.desc()).limit(20)
    )
    return answer(
        "The carts were found.",
        {"carts": [{**head(cart), "item_count": cart.item_count} for cart in carts]},
    )
