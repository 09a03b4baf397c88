"""The specification's types: what a value of each may be, said once.

What a body, Python code and the history bring, each type takes itself. Its column with the CHECK
constraint is in `carts.models.columns`, its form's field in `carts.admin.forms`, its schema in
`carts.openapi.schemas`.

Source: "Resources and their fields" and "Limits" in the Cart Service v2.0 specification.
"""

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, ClassVar
from uuid import UUID

from iso4217 import Currency as Currencies

from carts.cart_errors import InvalidCurrency, TooManyDecimals
from cartsvc.characters import FORBIDDEN_IN_LINE, FORBIDDEN_IN_PARAGRAPH, VISIBLE
from cartsvc.guids import parse_guid
from cartsvc.request_errors import InvalidGuid
from cartsvc.value_errors import (
    Blank,
    ControlCharacter,
    InvalidType,
    MaxLength,
    MaxValue,
    MinValue,
)

CURRENCIES = frozenset(currency.code for currency in Currencies)
ZERO = Decimal(0)
CURRENCY_CODE = re.compile("[A-Z]{3}")

JSON_TYPES = {
    str: "a string",
    bool: "a boolean",
    int: "a number",
    Decimal: "a number",
    float: "a number",
    list: "an array",
    dict: "an object",
    type(None): "null",
}


# Decimal itself takes 1_0, Arabic digits and white space.
NUMBER_TEXT = re.compile(r"[+-]?(?=\.?[0-9])[0-9]*\.?[0-9]*([eE][+-]?[0-9]{1,9})?")


def invalid_type(wanted: str, value: object) -> InvalidType:
    return InvalidType(wanted=wanted, sent=JSON_TYPES.get(type(value), type(value).__name__))


class ValueType:
    """A type of the specification."""

    def check(self, value: Any) -> Any:
        """Return a value that JSON brings as it is kept, or raise what is wrong with it."""
        raise NotImplementedError

    def check_python(self, value: object) -> Any:
        """Do as `check`, for a value from Python code or a form."""
        return self.check(value)

    def written(self, value: Any) -> Any:
        """Return a kept value as JSON has it: a text, an int or a Decimal."""
        return value

    def read_back(self, written: Any) -> Any:
        """Return the kept value that was `written`."""
        return written


class Number(ValueType):
    """A number. From Python code it may come as a float, or as a text that shows one."""

    wanted: ClassVar[str]

    def check_python(self, value: object) -> Any:
        if not isinstance(value, float | str | Decimal):
            return self.check(value)
        number = Decimal(text) if NUMBER_TEXT.fullmatch(text := str(value)) else None
        try:
            return self.check(number)
        except InvalidType:
            raise InvalidType(wanted=self.wanted, sent=repr(value)) from None


@dataclass(frozen=True)
class Text(ValueType):
    """string(n): a text of at most n Unicode code points, kept as sent."""

    max_length: int
    multiline: ClassVar[bool]
    forbidden: ClassVar[re.Pattern[str]]

    def check(self, value: object) -> str:
        """Raise `invalid_type`, `max_length`, `control_character`, and of a line `blank`."""
        if type(value) is not str:
            raise invalid_type("a string", value)
        if len(value) > self.max_length:
            raise MaxLength(limit=self.max_length, length=len(value))
        # In ASCII, what is not white space can be seen. Elsewhere there is what nobody sees.
        seen = self.multiline or (value.strip() if value.isascii() else VISIBLE.search(value))
        if not seen:
            raise Blank
        # The fast path: `isprintable` is false for every Cc, Cs, Zl and Zp.
        if not value.isprintable() and (found := self.forbidden.search(value)):
            raise ControlCharacter(code_point=ord(found[0]))
        return value


class Line(Text):
    """A text of one line, with at least one character that can be seen."""

    multiline = False
    forbidden = FORBIDDEN_IN_LINE


class Paragraph(Text):
    """A text of several lines. Tabs and line breaks may stand in it."""

    multiline = True
    forbidden = FORBIDDEN_IN_PARAGRAPH


@dataclass(frozen=True)
class Currency(ValueType):
    """string(3): a currency's code. If `current`, one of today's list of ISO 4217.

    Only a new cart's must be: a cart keeps a currency that the list drops.
    """

    current: bool = False
    max_length: ClassVar = 3

    def check(self, value: object) -> str:
        """Raise `invalid_type`, `max_length` or `invalid_currency`."""
        if type(value) is not str:
            raise invalid_type("a string", value)
        if value in CURRENCIES:
            return value
        if len(value) > self.max_length:
            raise MaxLength(limit=self.max_length, length=len(value))
        if self.current or not CURRENCY_CODE.fullmatch(value):
            raise InvalidCurrency
        return value


@dataclass(frozen=True)
class Integer(Number):
    """int and int64: a whole number within bounds. 5.0 is the same number as 5."""

    minimum: int
    maximum: int
    wanted: ClassVar = "an integer"

    def check(self, value: Any) -> int:
        """Raise `invalid_type`, `min_value` or `max_value`."""
        if type(value) is int and self.minimum <= value <= self.maximum:
            return value
        if type(value) is not int and not is_whole(value):
            raise invalid_type(self.wanted, value)
        if value < self.minimum:
            raise MinValue(limit=self.minimum)
        if value > self.maximum:
            raise MaxValue(limit=self.maximum)
        return int(value)


def is_whole(value: object) -> bool:
    """Return whether it is a Decimal that is a whole number, of any size."""
    return type(value) is Decimal and value.is_finite() and value == value.to_integral_value()


@dataclass(frozen=True)
class Price(Number):
    """double, which only prices have: exact, with up to `decimals` decimals.

    14 digits are within the 15 that a double keeps; 4 decimals do for every currency of ISO 4217.
    """

    wanted: ClassVar = "a number"
    digits: ClassVar = 14
    decimals: ClassVar = 4
    minimum: ClassVar = Decimal(0)
    smallest: ClassVar = Decimal(1).scaleb(-decimals)
    maximum: ClassVar = 10 ** (digits - decimals) - smallest

    def check(self, value: Any) -> Decimal:
        """Take the noise of a double off: `10.100000000000001` is 10.1.

        A price that really has more decimals is never rounded. Raise `invalid_type`, `min_value`,
        `max_value` or `too_many_decimals`.
        """
        if type(value) is not int and not (type(value) is Decimal and value.is_finite()):
            raise invalid_type(self.wanted, value)
        if (not value or self.smallest <= value <= self.maximum) and not value % self.smallest:
            return value + ZERO  # a Decimal without a long tail of noughts; -0.0 is 0
        price = Decimal(value)
        if price < 0:
            raise MinValue("A price must not be below 0.", limit=0)
        # A double keeps 15 significant digits. The rest is noise.
        if len(str(price)) > 16:  # with the point
            price = Decimal(f"{float(price):.15g}")
        if price > self.maximum:
            text = f"A price must not be above {self.maximum}."
            raise MaxValue(text, limit=self.maximum)
        if price % self.smallest or (value and price < self.smallest):  # too small to divide
            raise TooManyDecimals(limit=self.decimals)
        return price

    def read_back(self, written: Any) -> Decimal:
        return Decimal(written)


class Guid(ValueType):
    """guid: 8-4-4-4-12 hexadecimal digits, in either case."""

    def check(self, value: object) -> UUID:
        """Raise `invalid_type` or `invalid_guid`."""
        if type(value) is not str:
            raise invalid_type("a string", value)
        if guid := parse_guid(value):
            return guid
        raise InvalidGuid(name="This")

    def check_python(self, value: object) -> UUID:
        return value if isinstance(value, UUID) else self.check(value)

    def written(self, value: UUID) -> str:
        return str(value)

    def read_back(self, written: str) -> UUID:
        return UUID(written)


@dataclass(frozen=True)
class Choice(ValueType):
    """One of a few words."""

    words: tuple[str, ...]

    def check(self, value: object) -> str:
        """Raise `invalid_type`."""
        if type(value) is not str or value not in self.words:
            raise InvalidType(f"This must be one of these words: {', '.join(self.words)}.")
        return value


INT32 = Integer(-(2**31), 2**31 - 1)
INT64 = Integer(-(2**63), 2**63 - 1)
QUANTITY = Integer(1, 9_999)
PRICE = Price()
