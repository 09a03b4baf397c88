"""How carts are read: querysets, and the two reads of the API as compiled statements."""

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING, NamedTuple, Self
from uuid import UUID

from django.db import models

from carts.models import contents
from carts.models.item import CartItem, CartItemOption
from carts.models.totals import Totals, counted
from cartsvc.db.statements import Parameter, Select, parameters

if TYPE_CHECKING:
    from carts.models.cart import Cart


class CartQuerySet(models.QuerySet["Cart"]):
    """Carts to read. To change them, use the manager."""

    def without_history(self) -> Self:
        """Do not read the columns of the history."""
        return self.defer("creation", "history")

    def with_contents(self) -> Self:
        """Read the items and options in the same statement, but not the history."""
        return self._with_items(contents.ITEM_COLUMNS, contents.OPTION_COLUMNS)

    def with_amounts(self) -> Self:
        """Read only the items' columns that the totals need, and not the history."""
        return self._with_items(contents.ITEM_AMOUNTS, contents.OPTION_AMOUNTS)

    def _with_items(self, item_columns: Sequence[str], option_columns: Sequence[str]) -> Self:
        return self.without_history().annotate(
            item_rows=contents.items_of(CartItem, CartItemOption, item_columns, option_columns)
        )

    def counted_anew(self, keys: Sequence[UUID]) -> dict[UUID, Totals]:
        """Return the totals of the carts that have none, because an earlier release made them.

        The totals are not saved; `recount_carts` does that.
        """
        return {
            cart.pk: counted(cart.item_rows) for cart in self.with_amounts().filter(pk__in=keys)
        }


class CartSummary(NamedTuple):
    """A cart as List Carts shows it. A page of model instances costs 29 % more."""

    id: UUID
    profile_key: UUID
    partner_key: str
    restaurant_key: int
    platform: str
    ordering_channel: str
    fulfilment_channel: str
    currency: str
    note: str | None
    special_instructions: str | None
    # None in a cart that an earlier release made, until it is counted.
    item_count: int | None
    subtotal: Decimal | None
    created_on: datetime
    modified_on: datetime
    version: int


Reads = models.Manager.from_queryset(CartQuerySet)


@cache
def get_cart(model: type["Cart"], keys: tuple[str, ...]) -> Select:
    """Return the statement that reads the cart `id` with these keys, contents included."""
    return Select(CartQuerySet(model).with_contents().filter(**parameters(model, keys)))


@cache
def page_of_carts(
    model: type["Cart"], keys: tuple[str, ...], limit: int, *, further: bool
) -> Select:
    """Return the statement that reads a page of summaries, before `cursor` if it is `further`."""
    page = CartQuerySet(model).filter(**parameters(model, keys)).order_by("-id")
    if further:
        page = page.filter(id__lt=Parameter("cursor", models.UUIDField()))
    return Select(page.values_list(*CartSummary._fields)[:limit])
