"""A cart that a change has locked: what the change may do to it, and what it makes of it."""

from collections.abc import Collection, Iterable
from datetime import datetime
from decimal import Decimal
from typing import NamedTuple, Self
from uuid import UUID

from django.conf import settings

from carts.cart_errors import CurrencyMismatch, InvalidCurrency, TooMany, VersionMismatch
from carts.models.closing import OPEN
from carts.records import PlacedItem
from carts.value_types import CURRENCIES
from cartsvc.request_errors import MAX_ERRORS, ApiError, ApiErrors

# The version or versions that a caller expects; None if any will do.
Expected = int | Collection[int] | None

# Where something is in what the caller sent.
Place = tuple[str | int, ...]

IN_ALL = "options in all items of a cart together"


class LockedCart(NamedTuple):
    """What a change needs to know of the cart."""

    id: UUID
    profile_key: UUID
    currency: str
    modified_on: datetime
    # The defaults are those of a cart before its creation.
    version: int = 0
    item_count: int = 0
    option_count: int = 0
    subtotal: Decimal = Decimal(0)
    status: str = OPEN
    closed_on: datetime | None = None
    closed_until: datetime | None = None
    reference: str | None = None

    def check_version(self, expected: Expected) -> None:
        if expected is None:
            return
        versions = [expected] if isinstance(expected, int) else expected
        if not isinstance(versions, Collection) or any(type(one) is not int for one in versions):
            raise TypeError("A version is an integer, such as cart.version.")
        if self.version not in versions:
            raise VersionMismatch(version=self.version)

    def next_version(
        self,
        before: Collection[PlacedItem],
        after: Collection[PlacedItem],
        moment: datetime,
        sent_in: Place = (),
    ) -> Self:
        """Return the cart as it is once the items `before` have become those `after`.

        `sent_in` is the place of the caller's list of these items, such as `("items",)`. It is
        empty if what the caller sent is the item.

        Raises:
            ApiError: `currency_mismatch`, `invalid_currency` or `too_many`. A cart that is above
                a lowered limit may be changed, if it does not grow.
        """
        self.check_currencies(after, sent_in)
        gone, come = Totals.of(before), Totals.of(after)
        item_count = self.item_count - gone.item_count + come.item_count
        if item_count > max(self.item_count, settings.MAX_ITEMS):
            raise TooMany(limit=settings.MAX_ITEMS, plural="items in a cart", field=sent_in)
        option_count = self.option_count - gone.option_count + come.option_count
        if option_count > max(self.option_count, settings.MAX_CART_OPTIONS):
            field = sent_in or ("options",)
            raise TooMany(limit=settings.MAX_CART_OPTIONS, plural=IN_ALL, field=field)
        return self._replace(
            version=self.version + 1,
            item_count=item_count,
            option_count=option_count,
            subtotal=self.subtotal - gone.subtotal + come.subtotal,
            # The clock of the machine that made the last change may have been ahead.
            modified_on=max(self.modified_on, moment),
        )

    def check_currencies(self, items: Iterable[PlacedItem], sent_in: Place) -> None:
        """Refuse items and options in another currency than the cart's. See `next_version`.

        No more errors are looked for than an answer lists.
        """
        errors: list[ApiError] = []
        for number, (_, _, item, _) in enumerate(items):
            place = (*sent_in, number) if sent_in else ()
            if item.currency != self.currency:
                errors.append(self._other_currency(item.currency, place))
            for position, option in enumerate(item.options):
                if option.currency != self.currency:
                    errors.append(
                        self._other_currency(option.currency, (*place, "options", position))
                    )
            if len(errors) > MAX_ERRORS:
                break
        if errors:
            raise ApiErrors(errors) if len(errors) > 1 else errors[0]

    def _other_currency(self, code: str, place: Place) -> ApiError:
        field = (*place, "currency")
        if code in CURRENCIES:
            return CurrencyMismatch(currency=self.currency, field=field)
        return InvalidCurrency(field=field)


class Totals(NamedTuple):
    """The number of items and options in a cart, and the subtotal: the sum of items' values."""

    item_count: int
    option_count: int
    subtotal: Decimal

    @classmethod
    def of(cls, items: Collection[PlacedItem]) -> Self:
        option_count, subtotal = 0, Decimal(0)
        for _, _, item, value in items:
            option_count += len(item.options)
            subtotal += value
        return cls(len(items), option_count, subtotal)
