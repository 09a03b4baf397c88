"""What a change needs to know of a cart, and what it makes of it."""

from collections.abc import Collection, Iterable
from datetime import datetime
from decimal import Decimal
from itertools import islice
from typing import NamedTuple, Self
from uuid import UUID

from django.conf import settings

from carts.cart_errors import TooMany, VersionMismatch
from carts.models.item_draft import ItemDraft
from cartsvc.request_errors import MAX_ERRORS, ApiError, ApiErrors

# The version or versions that a caller expects; None if any will do.
Expected = int | Collection[int] | None

IN_ALL = "options in all items of a cart together"


class CartState(NamedTuple):
    """What a change needs to know of the cart that it has locked."""

    id: UUID
    profile_key: UUID
    currency: str
    version: int
    item_count: int
    option_count: int
    subtotal: Decimal
    modified_on: datetime

    @property
    def keys(self) -> dict[str, UUID]:
        return {"id": self.id, "cart_id": self.id, "profile_key": self.profile_key}

    def check_version(self, expected: Expected) -> None:
        versions = {expected} if isinstance(expected, int) else expected
        if versions is not None and self.version not in versions:
            raise VersionMismatch(version=self.version)

    def check_fit(self, before: ItemDraft | None, after: ItemDraft) -> None:
        """Refuse an item that the cart cannot take in place of `before`.

        A cart that is above a lowered limit may be changed, if it does not grow.
        """
        refuse_any(after.currency_mismatches(self.currency))
        if before is None and self.item_count >= settings.MAX_ITEMS:
            raise TooMany(f"The cart holds {settings.MAX_ITEMS} items already.", field=())
        more = len(after.options) - (len(before.options) if before else 0)
        if more > 0 and self.option_count + more > settings.MAX_CART_OPTIONS:
            raise TooMany(limit=settings.MAX_CART_OPTIONS, plural=IN_ALL, field=("options",))

    def with_change(
        self, before: ItemDraft | None, after: ItemDraft | None, moment: datetime
    ) -> Self:
        """Return the cart as it is when the item `before` has become `after`."""
        gone, come = Totals.of([before] if before else []), Totals.of([after] if after else [])
        return self._replace(
            version=self.version + 1,
            item_count=self.item_count - gone.item_count + come.item_count,
            option_count=self.option_count - gone.option_count + come.option_count,
            subtotal=self.subtotal - gone.subtotal + come.subtotal,
            # The time was taken before the change waited for another one.
            modified_on=max(self.modified_on, moment),
        )


class Totals(NamedTuple):
    """The number of items and options in a cart, and the sum of the items' values."""

    item_count: int
    option_count: int
    subtotal: Decimal

    @classmethod
    def of(cls, items: Collection[ItemDraft]) -> Self:
        return cls(
            len(items),
            sum(len(item.options) for item in items),
            sum((item.value for item in items), Decimal(0)),
        )


def refuse_any(errors: Iterable[ApiError]) -> None:
    """Raise the errors, if there are any. No more are looked for than an answer lists."""
    if found := list(islice(errors, MAX_ERRORS + 1)):
        raise ApiErrors(found) if len(found) > 1 else found[0]
