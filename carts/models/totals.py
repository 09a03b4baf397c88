"""A cart's totals after a change, and what a whole cart may hold."""

from collections.abc import Collection, Iterable
from decimal import Decimal
from typing import NamedTuple, Self

from django.conf import settings

from carts.cart_errors import CurrencyMismatch, TooMany
from carts.models.locked_cart import LockedCart
from carts.records import PlacedItem
from carts.validation import Place
from cartsvc.request_errors import MAX_ERRORS, ApiError, ApiErrors


class Totals(NamedTuple):
    """The number of items and options in a cart, and the subtotal: the sum of items' values."""

    item_count: int
    option_count: int
    subtotal: Decimal

    @classmethod
    def of_items(cls, items: Collection[PlacedItem]) -> Self:
        option_count, subtotal = 0, Decimal(0)
        for _, _, item, value in items:
            option_count += len(item.options)
            subtotal += value
        return cls(len(items), option_count, subtotal)


def next_version(
    cart: LockedCart,
    before: Collection[PlacedItem],
    after: Collection[PlacedItem],
    sent_in: Place = (),
) -> LockedCart:
    """Return the cart as it is once the items `before` have become those `after`.

    `sent_in` is the place of the caller's list of these items, such as `("items",)`. It is empty
    if what the caller sent is the item. A cart that is above a lowered limit may be changed, if it
    does not grow.
    """
    check_currencies(cart, after, sent_in)
    removed, added = Totals.of_items(before), Totals.of_items(after)
    item_count = cart.item_count - removed.item_count + added.item_count
    if item_count > max(cart.item_count, settings.MAX_ITEMS):
        raise TooMany(limit=settings.MAX_ITEMS, plural="items in a cart", field=sent_in)
    option_count = cart.option_count - removed.option_count + added.option_count
    if option_count > max(cart.option_count, settings.MAX_CART_OPTIONS):
        plural = "options in all items of a cart together"
        field = sent_in or ("options",)
        raise TooMany(limit=settings.MAX_CART_OPTIONS, plural=plural, field=field)
    return cart._replace(
        version=cart.version + 1,
        item_count=item_count,
        option_count=option_count,
        subtotal=cart.subtotal - removed.subtotal + added.subtotal,
        # The clock of the machine that made the last change may have been ahead.
        modified_on=max(cart.modified_on, cart.now),
    )


def check_currencies(cart: LockedCart, items: Iterable[PlacedItem], sent_in: Place) -> None:
    """Raise an error for each item or option in another currency, up to what an answer lists."""
    errors: list[ApiError] = []
    for number, (_, _, item, _) in enumerate(items):
        place = (*sent_in, number) if sent_in else ()
        if item.currency != cart.currency:
            errors.append(CurrencyMismatch(currency=cart.currency, field=(*place, "currency")))
        for position, option in enumerate(item.options):
            if option.currency != cart.currency:
                field = (*place, "options", position, "currency")
                errors.append(CurrencyMismatch(currency=cart.currency, field=field))
        if len(errors) > MAX_ERRORS:
            break
    if errors:
        raise ApiErrors(errors) if len(errors) > 1 else errors[0]
