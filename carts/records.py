"""The values of carts as plain records: what a caller sends, and an item in its place.

They have the names and the order of the specification. A record that is made by calling its class
or by `_replace` is checked: `Item(menu_key=…)` raises every error that it finds. `_make` takes
values that were checked before, by a serializer or when they were stored.
"""

import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from functools import cache, wraps
from typing import Annotated, Any, NamedTuple, TypeVar, get_type_hints
from uuid import UUID

from carts.cart_errors import CannotChange
from carts.value_types import (
    INT32,
    INT64,
    PRICE,
    QUANTITY,
    Choice,
    Currency,
    Integer,
    Line,
    ListOf,
    Paragraph,
    Price,
    is_whole,
)
from cartsvc.request_errors import ApiError, ApiErrors, InvalidGuid
from cartsvc.value_errors import InvalidType, InvalidValues, Null, Required

Record = Any  # the class of a record
RecordT = TypeVar("RecordT")

NOT_GIVEN = object()

# Decimal itself takes 1_0, Arabic digits and white space.
NUMBER = re.compile(r"[+-]?(?=\.?[0-9])[0-9]*\.?[0-9]*([eE][+-]?[0-9]{1,9})?")


def checks_values(record: type[RecordT]) -> type[RecordT]:
    """Let the class of a record check the values that it is given (a decorator)."""

    @wraps(record.__new__)  # so that help() and completion name the fields
    def new(cls: Record, **values: Any) -> Any:
        if hasattr(cls, "refused") and (errors := cls.refused(values)):
            raise InvalidValues(errors)
        every = checked_changes(cls, {**dict.fromkeys(cls._fields, NOT_GIVEN), **values})
        if hasattr(cls, "complete"):
            cls.complete(every)
        return cls._make(every.values())

    def replace(self: Record, **changes: Any) -> Any:
        return type(self)(**{**self._asdict(), **changes})

    # A NamedTuple's own may not be in its body.
    changed: Any = record
    changed.__new__, changed._replace = new, replace
    return record


@checks_values
class Option(NamedTuple):
    """An option that the customer selected (specification: CartItemOption)."""

    option_set_key: Annotated[int, INT64]
    option_set_item_key: Annotated[int, INT64]
    display_name: Annotated[str, Line(100)]
    currency: Annotated[str, Currency()]
    price: Annotated[Decimal, PRICE]


@checks_values
class Item(NamedTuple):
    """An item of a cart (specification: CartItem)."""

    menu_key: Annotated[str, Line(20)]
    menu_version: Annotated[int, INT32]
    menu_item_key: Annotated[int, INT64]
    display_name: Annotated[str, Line(100)]
    currency: Annotated[str, Currency()]
    price: Annotated[Decimal, PRICE]
    quantity: Annotated[int, QUANTITY]
    options: Annotated[tuple[Option, ...], ListOf(Option, "options on an item", "MAX_OPTIONS")] = ()
    special_instructions: Annotated[str | None, Paragraph(300)] = None

    @property
    def value(self) -> Decimal:
        """The price and the options' prices, times the quantity."""
        price = self.price
        for option in self.options:
            price += option.price
        return price * self.quantity


class PlacedItem(NamedTuple):
    """An item that a cart holds, or has held. Its `value` is computed once, or read."""

    id: UUID
    position: int
    item: Item
    value: Decimal


@checks_values
class NewCart(NamedTuple):
    """A cart as it is created (specification: CreateCart)."""

    partner_key: Annotated[str, Line(4)]
    restaurant_key: Annotated[int, INT32]
    items: Annotated[tuple[Item, ...], ListOf(Item, "items in a cart", "MAX_ITEMS")]
    platform: Annotated[str, Line(50)]
    ordering_channel: Annotated[str, Line(50)]
    fulfilment_channel: Annotated[str, Line(50)]
    currency: Annotated[str, Currency(current=True)]
    note: Annotated[str | None, Paragraph(300)] = None
    special_instructions: Annotated[str | None, Paragraph(300)] = None


class AddedItems(NamedTuple):
    """Items that are added to a cart at once."""

    items: Annotated[tuple[Item, ...], ListOf(Item, "items in a cart", "MAX_ITEMS")]


# The fields that Change Cart and Change Item may change.
CART_CHANGES = (
    *("platform", "ordering_channel", "fulfilment_channel"),
    *("note", "special_instructions"),
)
ITEM_CHANGES = ("quantity", "special_instructions")


class ItemList(NamedTuple):
    """All items that a cart holds from now on, with their ids. The cart knows how many it takes."""

    items: Annotated[tuple[tuple[UUID | None, Item], ...], ListOf(Item, "items in a cart", None)]


CHECKOUT, ORDERED, ABANDONED = OUTCOMES = "checkout", "ordered", "abandoned"
CHECKOUT_SECONDS = 900  # if not given


@checks_values
class Closing(NamedTuple):
    """How a cart is closed. A `checkout` ends after some `seconds`.

    The `reference` is the payment's or the order's own key.
    """

    outcome: Annotated[str, Choice(OUTCOMES)]
    reference: Annotated[str | None, Line(100)] = None
    seconds: Annotated[int | None, Integer(60, 3_600)] = None

    @staticmethod
    def refused(values: Mapping[str, Any]) -> list[ApiError]:
        """Return an error for each value that does not go with the `outcome`, whatever it is."""
        outcome, errors = values.get("outcome"), list[ApiError]()
        if outcome in (CHECKOUT, ORDERED) and values.get("reference") is None:
            errors.append(Required(field=("reference",)))
        if outcome in (ORDERED, ABANDONED) and values.get("seconds") is not None:
            text = "Only a checkout ends after some seconds."
            errors.append(CannotChange(text, field=("seconds",)))
        return errors

    @staticmethod
    def complete(values: dict[str, Any]) -> None:
        """Fill in the `seconds` of a checkout."""
        if values["outcome"] == CHECKOUT and values["seconds"] is None:
            values["seconds"] = CHECKOUT_SECONDS


def checked_key(name: str, value: Any, *place: str | int) -> UUID:
    """Return a key that is a UUID, or the text of one. `place` is where the caller wrote it."""
    try:
        return value if isinstance(value, UUID) else UUID(value)
    except (AttributeError, TypeError, ValueError):
        raise InvalidValues([InvalidGuid(name=name, field=(*place, name))]) from None


def check_named_once(item_ids: Iterable[UUID | None], name: str) -> None:
    """Raise an error for each item whose id, which the caller calls `name`, an earlier one has."""
    seen: set[UUID] = set()
    errors: list[ApiError] = []
    for number, item_id in enumerate(item_ids):
        if item_id in seen:
            text = "Another item of the list has this id."
            errors.append(InvalidGuid(text, field=("items", number, name)))
        elif item_id:
            seen.add(item_id)
    if errors:
        raise ApiErrors(errors)


@cache
def types_of(record: Record) -> dict[str, Any]:
    """Return the type of each field, in their order. See `carts.value_types`."""
    hints = get_type_hints(record, include_extras=True)
    return {name: hints[name].__metadata__[0] for name in record._fields}


@cache
def not_sent(record: Record) -> dict[str, Any]:
    """Return what each field holds that was not sent: no elements of a list, else None."""
    lists = {name: () for name, kind in types_of(record).items() if isinstance(kind, ListOf)}
    return lists | record._field_defaults


def is_optional(record: Record, name: str) -> bool:
    """Return whether the field need not be sent."""
    return name in not_sent(record)


def checked_changes(record: Record, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return some values of a record, by their names.

    Raises:
        TypeError: a name that the record does not have, or a list that is none.
        InvalidValues: each value that the specification does not allow, and each that is missing.
    """
    types = types_of(record)
    if other := [name for name in changes if name not in types]:
        raise TypeError(f"{record.__name__} takes no {', '.join(other)}, only {', '.join(types)}.")
    found: dict[str, Any] = {}
    errors: list[ApiError] = []
    for name, value in changes.items():
        try:
            if value is None or value is NOT_GIVEN:
                if not is_optional(record, name):
                    raise Required if value is NOT_GIVEN else Null
                found[name] = not_sent(record)[name]
            elif isinstance(types[name], ListOf):
                found[name] = _checked_list(types[name], value)
            else:
                found[name] = types[name].check(_exact(types[name], value))
        except ApiError as error:
            errors += error.within(name).errors
    if errors:
        raise InvalidValues(errors)
    return found


def checked_items(items: Iterable[Any]) -> list[tuple[UUID | None, Item]]:
    """Return items of any number, each with the `id` that it names. See `checked_changes`."""
    sent = [dict(one) if isinstance(one, Mapping) else one for one in items]
    ids = [one.pop("id", None) if isinstance(one, dict) else None for one in sent]
    keys = [
        None if one is None else checked_key("id", one, "items", n) for n, one in enumerate(ids)
    ]
    check_named_once(keys, "id")
    return list(zip(keys, checked_changes(ItemList, {"items": sent})["items"], strict=True))


def _checked_list(kind: ListOf, values: Iterable[Any]) -> tuple[Any, ...]:
    found: list[Any] = []
    errors: list[ApiError] = []
    sent = list(values)
    kind.check_count(sent)
    for position, value in enumerate(sent):
        try:
            if not isinstance(value, kind.one | Mapping):
                wanted = f"{kind.one.__name__} or dict"
                raise InvalidType(wanted=wanted, sent=type(value).__name__)
            found.append(value if isinstance(value, kind.one) else kind.one(**value))
        except ApiError as error:
            errors += error.within(position).errors
    if errors:
        raise InvalidValues(errors)
    return tuple(found)


def _exact(kind: Any, value: Any) -> Any:
    """Return a number from Python code, or the text of one, as the Decimal that it shows."""
    if not isinstance(kind, Integer | Price) or not isinstance(value, float | str | Decimal):
        return value
    number = Decimal(text) if NUMBER.fullmatch(text := str(value)) else None
    if number is None or (isinstance(kind, Integer) and not is_whole(number)):
        wanted = "an integer" if isinstance(kind, Integer) else "a number"
        raise InvalidType(wanted=wanted, sent=repr(value))
    return number


def from_json(record: Record, members: Mapping[str, Any]) -> dict[str, Any]:
    """Return the members of a JSON object, those of the record as its fields hold them."""
    values = dict(members)
    for name, kind in types_of(record).items():
        value = values.get(name)
        if isinstance(kind, Price) and value is not None:
            values[name] = Decimal(value)
        elif isinstance(kind, ListOf) and value is not None:
            values[name] = tuple(completed(kind.one, from_json(kind.one, one)) for one in value)
    return values


def completed(record: Record, values: Mapping[str, Any]) -> Any:
    """Return the record of values that were checked before. What is missing is not sent."""
    return record._make(map({**not_sent(record), **values}.get, record._fields))
