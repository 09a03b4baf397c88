"""The objects of carts as plain records: what a caller sends, and an item at its position.

They have the names and the order of the specification, and each field's type says what it may hold.
A `checked_record` checks its values when its class is called, and in `_replace`: `Item(menu_key=…)`
raises every error that it finds. `_make` takes values that were checked before, by a serializer or
when they were stored.
"""

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Annotated, Any, NamedTuple, Self
from uuid import UUID

from carts.cart_errors import CannotChange
from carts.checked_record import checked_changes, checked_record
from carts.value_types import (
    INT32,
    INT64,
    PRICE,
    QUANTITY,
    Choice,
    Currency,
    Guid,
    Integer,
    Line,
    ListOf,
    Paragraph,
)
from cartsvc.request_errors import ApiError, ApiErrors, InvalidGuid
from cartsvc.value_errors import InvalidValues, Required


@checked_record
class Option(NamedTuple):
    """An option that the customer selected (specification: CartItemOption)."""

    option_set_key: Annotated[int, INT64]
    option_set_item_key: Annotated[int, INT64]
    display_name: Annotated[str, Line(100)]
    currency: Annotated[str, Currency()]
    price: Annotated[Decimal, PRICE]


@checked_record
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


def placed_items(items: Mapping[UUID, Item], first: int = 0) -> list[PlacedItem]:
    """Return the items, by their ids, at positions that follow each other."""
    return [
        PlacedItem(item_id, position, item, item.value)
        for position, (item_id, item) in enumerate(items.items(), first)
    ]


@checked_record
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

    items: Annotated[
        tuple[Item, ...],
        ListOf(Item, "items in a cart", "MAX_ITEMS", is_required=True, allow_empty=False),
    ]


class ItemList(NamedTuple):
    """All items that a cart holds from now on, with their ids. The cart knows how many it takes."""

    items: Annotated[
        tuple[tuple[UUID | None, Item], ...],
        ListOf(Item, "items in a cart", None, is_required=True),
    ]


class CartMove(NamedTuple):
    """To which customer a cart goes."""

    profile_key: Annotated[UUID, Guid()]


CHECKOUT, ORDERED, ABANDONED = OUTCOMES = "checkout", "ordered", "abandoned"
CHECKOUT_SECONDS = 900  # if not given
REFERENCE = Line(255)  # as payment services reserve for their ids

# What goes with one outcome only.
OUTCOME_OF = {"seconds": CHECKOUT, "order_reference": ORDERED}


@checked_record
class Closing(NamedTuple):
    """How a cart is closed. A `checkout` ends after some `seconds`.

    The `reference` is the key of the attempt to pay, or of the order; the `order_reference` is the
    number that the order gets after the money.
    """

    outcome: Annotated[str, Choice(OUTCOMES)]
    reference: Annotated[str | None, REFERENCE] = None
    seconds: Annotated[int | None, Integer(60, 3_600)] = None
    order_reference: Annotated[str | None, REFERENCE] = None

    def completed(self) -> Self:
        """Return it with the `seconds` of a checkout.

        Raises:
            ApiErrors: an error for each value that does not go with the `outcome`.
        """
        errors: list[ApiError] = []
        if self.outcome in (CHECKOUT, ORDERED) and self.reference is None:
            errors.append(Required(field=("reference",)))
        for name, outcome in OUTCOME_OF.items():
            if self.outcome != outcome and getattr(self, name) is not None:
                text = f"This goes with the outcome {outcome} only."
                errors.append(CannotChange(text, field=(name,)))
        if errors:
            raise ApiErrors(errors)
        if self.outcome == CHECKOUT and self.seconds is None:
            return type(self)._make({**self._asdict(), "seconds": CHECKOUT_SECONDS}.values())
        return self


@checked_record
class Reopening(NamedTuple):
    """Which checkout is opened, and nothing else."""

    reference: Annotated[str, REFERENCE]


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


def checked_items(items: Iterable[Any]) -> list[tuple[UUID | None, Item]]:
    """Return items of any number, each with the `id` that it names. See `checked_record`."""
    sent = [dict(one) if isinstance(one, Mapping) else one for one in items]
    ids = [one.pop("id", None) if isinstance(one, dict) else None for one in sent]
    keys = [
        None if one is None else checked_key("id", one, "items", n) for n, one in enumerate(ids)
    ]
    check_named_once(keys, "id")
    return list(zip(keys, checked_changes(ItemList, {"items": sent})["items"], strict=True))
