"""How carts are read: querysets, and the two reads of the API as compiled statements."""

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Self

from django.db import models

from carts.models import contents
from carts.models.item import CartItem, CartItemOption
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


Reads = models.Manager.from_queryset(CartQuerySet)


@cache
def get_cart(model: type["Cart"], keys: tuple[str, ...]) -> Select:
    """Return the statement that reads the cart `id` with these keys, contents included."""
    return Select(CartQuerySet(model).with_contents().filter(**parameters(model, keys)))


@cache
def page_of_carts(
    model: type["Cart"], keys: tuple[str, ...], limit: int, *, further: bool
) -> Select:
    """Return the statement that reads a page, of carts before `cursor` if it goes `further`."""
    page = CartQuerySet(model).without_history().filter(**parameters(model, keys)).order_by("-id")
    if further:
        page = page.filter(id__lt=Parameter("cursor", models.UUIDField()))
    return Select(page[:limit])
