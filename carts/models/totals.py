"""The totals of a cart, stored with the cart so that a list reads no items.

The claim keeps them up to date. It subtracts the old item and adds the new one. It looks the
old item up in its own statement, which sees the items as they were when the statement began.
The cart may have changed since then. So the claim also requires the version that the cart had
at that time. If the version differs, the claim finds no row and is tried again.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Subquery, Value
from django.db.models.functions import Coalesce, Greatest
from django.db.models.lookups import LessThan, LessThanOrEqual

from carts.models.contents import value
from carts.models.item import CartItem, CartItemOption, ItemDraft
from cartsvc.db.decimals import ExactField, Minus, Plus, Times, Total
from cartsvc.db.fields import PositiveIntegerField
from cartsvc.db.statements import Parameter, parameters

if TYPE_CHECKING:
    from carts.models.cart import Cart

INTEGER = PositiveIntegerField()
NONE = Value(0, output_field=INTEGER)


@dataclass(frozen=True, slots=True)
class Totals:
    """The number of items and options in a cart, and their cost."""

    item_count: int
    option_count: int
    subtotal: Decimal


def totals_of(drafts: Iterable[ItemDraft]) -> Totals:
    """Return the totals of these items."""
    drafts = list(drafts)
    return Totals(
        len(drafts),
        sum(len(draft.options) for draft in drafts),
        sum((draft.value() for draft in drafts), Decimal(0)),
    )


def counted(item_amounts: Iterable[Any] | None) -> Totals:
    """Return the totals of the `item_rows` that `CartQuerySet.with_amounts` reads."""
    rows = list(item_amounts or ())
    values = [
        value(price, quantity, (price for (price,) in options or ()))
        for price, quantity, options in rows
    ]
    return Totals(
        len(rows), sum(len(options or ()) for _, _, options in rows), sum(values, Decimal(0))
    )


def changed(*, takes: bool, adds: bool) -> dict[str, Any]:
    """Return the new values of the totals' columns, for the UPDATE of a claim.

    `takes` subtracts the item of the parameter `item_id`. `adds` adds an item with the
    parameters `options`, their number, and `value`.
    """
    if not takes and not adds:
        return {}
    options: Any = F("option_count")
    subtotal: Any = F("subtotal")
    if takes:
        options = options - _options_taken()
        subtotal = Minus(subtotal, _value_taken())
    if adds:
        options = options + Parameter("options", INTEGER)
        subtotal = Plus(subtotal, Parameter("value", ExactField()))
    changed = {"option_count": options, "subtotal": subtotal}
    if takes != adds:
        changed["item_count"] = F("item_count") + (1 if adds else -1)
    return changed


def allowed(carts: type["Cart"], *, takes: bool, adds: bool) -> Q:
    """Return the condition under which a cart may be changed. The arguments are as in `changed`.

    The parameters `most_items` and `most_options` are the limits of a cart. A change that does
    not raise the number of options is allowed even above the limit, which may have been lowered.
    A cart that has not been counted counts as empty.
    """
    allowed = Q()
    if takes:
        seen: QuerySet[Any] = (
            QuerySet(carts).filter(**parameters(carts, ["id"])).values("version")[:1]
        )
        allowed &= Q(Exists(_item_taken().filter(cart=OuterRef("pk"))), version=Subquery(seen))
    if adds:
        before = Coalesce(F("option_count"), NONE)
        after = before + Parameter("options", INTEGER)
        if takes:
            after = after - _options_taken()
        most = Greatest(before, Parameter("most_options", INTEGER))
        allowed &= Q(LessThanOrEqual(after, most))
    if adds and not takes:
        items = Coalesce(F("item_count"), NONE)
        allowed &= Q(LessThan(items, Parameter("most_items", INTEGER)))
    return allowed


def _options_taken() -> Any:
    """Return the number of options of the item that the parameter `item_id` names."""
    options = (
        QuerySet(CartItemOption)
        .filter(**parameters(CartItemOption, ["item_id"]))
        .order_by()
        .values("item_id")
        .annotate(count=Count("position"))
        .values("count")
    )
    return Coalesce(Subquery(options, output_field=INTEGER), NONE)


def _value_taken() -> Any:
    """Return what the item that the parameter `item_id` names costs."""
    extras = (
        QuerySet(CartItemOption)
        .filter(item=OuterRef("pk"))
        .order_by()
        .values("item")
        .annotate(total=Total("price"))
        .values("total")
    )
    extra = Coalesce(Subquery(extras), Value(0, output_field=ExactField()))
    return Subquery(_item_taken().values(worth=Times(Plus("price", extra), "quantity")))


def _item_taken() -> QuerySet[CartItem]:
    key = Parameter("item_id", CartItem._meta.get_field("id"))
    return QuerySet(CartItem).filter(id=key).order_by()
