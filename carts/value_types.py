"""The specification's types: what a value, a list or an object may be, said once.

What a body, Python code and the history bring, each type takes itself. Its column with the CHECK
constraint is in `carts.models.columns`, its form's field in `carts.admin.forms`, its schema in
`carts.openapi.schemas`.

An object is a record: a NamedTuple whose fields are annotated with a type, or with `ListOf` other
records. One loop checks the members of a body, and the fields of a record from Python.

Source: "Resources and their fields" and "Limits" in the Cart Service v2.0 specification.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass
from decimal import Decimal
from functools import cache, partial
from typing import Any, ClassVar, NamedTuple, get_type_hints
from uuid import UUID

from django.conf import settings
from iso4217 import Currency as Currencies

from carts.cart_errors import InvalidCurrency, TooMany, TooManyDecimals
from cartsvc.characters import FORBIDDEN_IN_LINE, FORBIDDEN_IN_PARAGRAPH, VISIBLE
from cartsvc.guids import parse_guid
from cartsvc.request_errors import MAX_ERRORS, ApiError, ApiErrors, InvalidGuid
from cartsvc.value_errors import (
    Blank,
    ControlCharacter,
    InvalidType,
    MaxLength,
    MaxValue,
    MinValue,
    Null,
    Required,
)

Record = Any  # the class of a record
Values = dict[str, Any]  # of a record, by its fields

# Where something is in what the caller sent.
Place = tuple[str | int, ...]

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

    # Returns a kept value as JSON has it, and the value that was written; None if it is the same.
    written: Callable[[Any], Any] | None = None
    read_back: Callable[[Any], Any] | None = None


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
        if type(value) is not int and not (
            type(value) is Decimal and value.is_finite() and value == value.to_integral_value()
        ):
            raise invalid_type(self.wanted, value)
        if value < self.minimum:
            raise MinValue(limit=self.minimum)
        if value > self.maximum:
            raise MaxValue(limit=self.maximum)
        return int(value)


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


class Found(NamedTuple):
    """What is wrong, and where there are members that no object has, in the order sent."""

    errors: list[ApiError]
    unknown: list[Place]

    def add_error(self, error: ApiError, place: Place) -> None:
        """Add an error, or those that it holds, which are within this place."""
        for one in error.errors:
            one.field = (*place, *(one.field or ()))
            self.errors.append(one)


# Of an object, at its place. It adds to what was `Found` all that is wrong in it.
ObjectCheck = Callable[[Any, Place, Found], Any]


@dataclass(frozen=True)
class ListOf(ValueType):
    """An array of objects, each a record. `setting` names what limits their number, if anything."""

    record: Record
    plural: str
    setting: str | None
    is_required: bool = False
    allow_empty: bool = True

    def checked_list(
        self, check: ObjectCheck, elements: Any, place: Place, found: Found
    ) -> tuple[Any, ...]:
        """Return the checked elements. No more errors are looked for than an answer lists.

        Raise `invalid_type`, `required`, `too_many`, or as `object_check` says.
        """
        if type(elements) is not list:
            raise invalid_type("an array", elements)
        if not elements and not self.allow_empty:
            raise Required("Send at least one item.")
        if self.setting and len(elements) > (limit := getattr(settings, self.setting)):
            raise TooMany(limit=limit, plural=self.plural)
        values = []
        for position, element in enumerate(elements):
            try:
                # Unpacking would take twice as long.
                values.append(check(element, place + (position,), found))  # noqa: RUF005
            except ApiError as error:
                found.add_error(error, (*place, position))
                if len(found.errors) > MAX_ERRORS:
                    break
        if len(values) < len(elements):
            raise ApiErrors([])
        return tuple(values)

    def written(self, value: Iterable[Any]) -> Any:
        return [written_values(self.record, one._asdict()) for one in value]

    def read_back(self, written: Any) -> tuple[Any, ...]:
        return tuple(stored_record(self.record, read_values(self.record, one)) for one in written)


class Member(NamedTuple):
    """A member of an object: its name for the caller, and its check.

    A member that is not sent, or null, has the value `absent`. The `hook` gets the value of one
    that is sent, once it is checked.
    """

    name: str
    check: Callable[..., Any]  # of a list, with its place and what was found
    is_list: bool
    is_required: bool
    absent: object
    hook: Callable[[Any], Any] | None = None


def object_check(
    members: Iterable[Member], known: Iterable[str], make: Callable[[list[Any]], Any]
) -> ObjectCheck:
    """Return the check of one kind of object.

    The caller is told of each name sent that is not `known`. `make` gets the values in the order of
    the members. An `ApiError` that a check raises is about the whole object or list: what is wrong
    within it has been added already, so there may be nothing left to tell.
    """
    # A plain tuple unpacks faster than a NamedTuple.
    every: list[tuple[Any, ...]] = [tuple(member) for member in members]
    known = frozenset(known)

    def check(sent: Any, place: Place, found: Found) -> Any:
        if type(sent) is not dict:
            raise invalid_type("an object", sent)
        values = []
        is_wrong, is_known = False, known.issuperset(sent)
        unknown_before = 0 if is_known else len(found.unknown)
        for name, check_value, is_list, is_required, absent, hook in every:
            value = sent.get(name)
            try:
                if value is None:
                    if is_required:
                        raise Null if name in sent else Required
                    value = absent
                elif is_list:
                    value = check_value(value, (*place, name), found)
                else:
                    value = check_value(value)
                values.append(hook(value) if hook and name in sent else value)
            except ApiError as error:
                is_wrong = True
                found.add_error(error, (*place, name))
        if not is_known:
            _add_unknown(known, sent, place, found.unknown, unknown_before)
        if is_wrong:
            raise ApiErrors([])
        return make(values)

    return check


def _add_unknown(
    known: Set[str], sent: Iterable[str], place: Place, unknown: list[Place], before: int
) -> None:
    """Add the places of unknown members to those in the object's lists, in the order sent."""
    order = {name: number for number, name in enumerate(sent)}
    unknown += [(*place, name) for name in sent if name not in known]
    unknown[before:] = sorted(unknown[before:], key=lambda one: order[str(one[len(place)])])


def checked(check: ObjectCheck, sent: object) -> tuple[Any, Found]:
    """Return what a check makes of all that was sent, and what was found in it."""
    value, found = None, Found([], [])
    try:
        value = check(sent, (), found)
    except ApiError as error:
        found.add_error(error, ())
    return value, found


@cache
def types_of(record: Record) -> dict[str, Any]:
    """Return the type of each field, in their order."""
    hints = get_type_hints(record, include_extras=True)
    return {name: hints[name].__metadata__[0] for name in record._fields}


@cache
def defaults_of(record: Record) -> Values:
    """Return what each field holds that was not sent: no elements of a list, else None."""
    kinds = types_of(record).items()
    lists = {n: () for n, kind in kinds if isinstance(kind, ListOf) and not kind.is_required}
    return lists | record._field_defaults


def is_optional(record: Record, name: str) -> bool:
    """Return whether the field need not be sent."""
    return name in defaults_of(record)


@cache
def _methods(record: Record, method: str) -> dict[str, Callable[[Any], Any]]:
    """Return this method of each type that has it, by the fields."""
    every = ((name, getattr(kind, method)) for name, kind in types_of(record).items())
    return {name: convert for name, convert in every if convert}


def _converted(method: str, record: Record, values: Mapping[str, Any]) -> Values:
    found = {**values}
    for name, convert in _methods(record, method).items():
        if found.get(name) is not None:
            found[name] = convert(found[name])
    return found


# Of a record and some of its values: those as the JSON of the history has them, and back.
written_values = partial(_converted, "written")
read_values = partial(_converted, "read_back")


def stored_record(record: Record, values: Mapping[str, Any]) -> Any:
    """Return the record of values that were checked before. What is missing was not sent."""
    return record._make(map({**defaults_of(record), **values}.get, record._fields))
