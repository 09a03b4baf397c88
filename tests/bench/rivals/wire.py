"""What the two FastAPI rivals share: the wire's models and the token check."""

import os
from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any, Generic, TypeVar
from uuid import UUID

import jwt
from fastapi import Depends, HTTPException
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from iso4217 import Currency as Iso4217
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints
from pydantic.alias_generators import to_camel

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


CARTS = "/v2.0/customers/{profile_key}/carts"


def answer(message: str, data: Any = None) -> Answer[Any]:
    notification = {"severity": "Success", "text": message, "code": None, "additionalData": None}
    return Answer(message=message, notifications=[notification], data=data)


def check_currency(currency: str, items: list[ItemIn]) -> None:
    for item in items:
        if any(row.currency != currency for row in (item, *item.options)):
            raise HTTPException(400, "currency_mismatch")


ITEM_NAMES = ItemOut.model_fields.keys()
