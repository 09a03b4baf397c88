"""A cart that a change has locked: what the change may do to it, and what it makes of it."""

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from decimal import Decimal
from typing import NamedTuple, Self
from uuid import UUID

from django.conf import settings

from carts.cart_errors import CurrencyMismatch, InvalidCurrency, TooMany, VersionMismatch
from carts.types import CURRENCIES
from carts.values import Item, PlacedItem
from cartsvc.request_errors import MAX_ERRORS, ApiError, ApiErrors

# The version or versions that a caller expects; None if any will do.
Expected = int | Collection[int] | None

Path = tuple[str | int, ...]

IN_ALL = "options in all items of a cart together"


class LockedCart(NamedTuple):
    """What a change needs to know of the cart."""

    id: UUID
    profile_key: UUID
    currency: str
    version: int
    item_count: int
    option_count: int
    subtotal: Decimal
    modified_on: datetime

    def check_version(self, expected: Expected) -> None:
        versions = {expected} if isinstance(expected, int) else expected
        if versions is not None and self.version not in versions:
            raise VersionMismatch(version=self.version)

    def check_fit(self, before: PlacedItem | None, after: Item) -> None:
        """Refuse an item that the cart cannot take in place of `before`.

        A cart that is above a lowered limit may be changed, if it does not grow.
        """
        check_currencies([((), after)], self.currency)
        if before is None and self.item_count >= settings.MAX_ITEMS:
            raise TooMany(f"The cart holds {settings.MAX_ITEMS} items already.", field=())
        more = len(after.options) - (len(before.item.options) if before else 0)
        if more > 0 and self.option_count + more > settings.MAX_CART_OPTIONS:
            raise TooMany(limit=settings.MAX_CART_OPTIONS, plural=IN_ALL, field=("options",))

    def changed(
        self, before: Sequence[PlacedItem], after: Sequence[PlacedItem], moment: datetime
    ) -> Self:
        """Return the cart as it is when the items `before` have become those `after`."""
        gone, come = Totals.of(before), Totals.of(after)
        return self._replace(
            version=self.version + 1,
            item_count=self.item_count - gone.item_count + come.item_count,
            option_count=self.option_count - gone.option_count + come.option_count,
            subtotal=self.subtotal - gone.subtotal + come.subtotal,
            # The time was taken before the change waited for another one.
            modified_on=max(self.modified_on, moment),
        )


class Totals(NamedTuple):
    """The number of items and options in a cart, and the subtotal: the sum of items' values."""

    item_count: int
    option_count: int
    subtotal: Decimal

    @classmethod
    def of(cls, items: Sequence[PlacedItem]) -> Self:
        option_count, subtotal = 0, Decimal(0)
        for _, _, item, value in items:
            option_count += len(item.options)
            subtotal += value
        return cls(len(items), option_count, subtotal)


def check_currencies(items: Iterable[tuple[Path, Item]], currency: str) -> None:
    """Refuse items and options that are not in the cart's `currency`.

    Each item comes with the path that leads to it in what the caller has sent. No more errors are
    looked for than an answer lists.
    """
    errors: list[ApiError] = []
    for path, item in items:
        codes = [(path, item.currency)]
        for position, option in enumerate(item.options):
            codes.append(((*path, "options", position), option.currency))
        for place, code in codes:
            if code != currency:
                errors.append(_currency_error(code, currency, (*place, "currency")))
        if len(errors) > MAX_ERRORS:
            break
    if errors:
        raise ApiErrors(errors) if len(errors) > 1 else errors[0]


def _currency_error(code: str, currency: str, field: Path) -> ApiError:
    if code not in CURRENCIES:
        return InvalidCurrency(field=field)
    return CurrencyMismatch(currency=currency, field=field)
