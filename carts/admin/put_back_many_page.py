"""The page that puts back, in carts that the filter "Changed by" has found, what they changed."""

from typing import Any

from django.core.exceptions import BadRequest

from carts.admin.formatting import format_error, format_moment, isolate
from carts.admin.history import Event, difference_text, in_one_line, snapshots_since
from carts.admin.many_carts_page import DELETED, SAME, ManyCartsView, Plan
from carts.admin.search import FindForm
from carts.admin.search_terms import changes_by
from carts.models import Cart, CartChange
from carts.models.cart_change import (
    WHY_LENGTH,
    difference,
    encoded,
    item_differences,
    undo,
)
from carts.models.manager import CartManager
from carts.models.reads import items_of
from carts.records import Item
from cartsvc.request_errors import ApiError


class PutBackManyView(ManyCartsView):
    template = "put_back_many"

    def read_form(self) -> bool:
        filters = FindForm(self.request.GET)
        if not filters.is_valid() or not filters.cleaned_data["changed_by"]:
            raise BadRequest("The list does not say by whom its carts were changed.")
        named = ("changed_by", "changed_from", "changed_to")
        who, since, until = (filters.cleaned_data[name] for name in named)
        self.undone = changes_by(who, since, until)
        when = f" since {format_moment(since)}" if since else ""
        when += f" until {format_moment(until)}" if until else ""
        self.begins = f"Put back what {isolate(who)} changed{when}"
        self.title = f"{self.begins}?"
        is_valid, why = super().read_form(), f"Put back what {who} changed{when}"
        self.why = (f"{why}: {self.why}" if self.why else why)[:WHY_LENGTH]
        return is_valid

    def plan(self, cart: Any, version: int) -> Plan:
        """Return how the cart is without these changes. What others have written since stays."""
        cart = Cart.objects.with_items().filter(pk=cart.pk).first()
        if not cart:
            return Plan(DELETED)
        versions = {*cart.changes.filter(self.undone).values_list("version", flat=True)}
        oldest = min(versions, default=1) - 1
        snapshots = snapshots_since(cart, items_of(cart.items_json), min(oldest, version))
        if oldest not in snapshots or version not in snapshots:
            return Plan("stays as it is: what was before is not known any more")
        current = snapshots[version]
        changes = [one.next for one in snapshots.values() if one.next and one.version < version]
        placed, fields, since = undo(current.placed, current.fields, changes, versions)
        items = {key: one.item for key, one in placed.items()}
        try:
            for _, item in items.items() - current.items.items():
                Item(**item._asdict())  # what was allowed then may be refused now
        except ApiError as error:
            return Plan(f"stays as it is: {format_error(error)}")
        lines, todo = list[str](), list[tuple[Any, object]]()
        if [*items.items()] != [*current.items.items()]:
            differences = item_differences(current.placed.values(), placed.values())
            before, after = (encoded(Item, one) for one in differences)
            lines += Event.of(CartChange(before=before, after=after), cart.currency).lines
            todo.append((CartManager.replace_items, items))
        if text := difference_text(current.fields, fields, cart.currency):
            lines.append(text)
            todo.append((CartManager.change_cart, difference(current.fields, fields)[1]))
        undone = [one for one in changes if one.version in versions and not one.changed_items]
        if any(one.old.keys() - fields.keys() for one in undone):
            lines.append("closing, reopening and moving are not put back")
        others = "; ".join(_told(change, cart.currency) for change in since)
        others = others and f"left, because changed since: {others}"
        return Plan(in_one_line(lines if todo else [SAME.text, *lines]), todo, others)


def _told(change: CartChange, currency: str) -> str:
    who = f"{isolate(change.author_name)}, {format_moment(change.at)}"
    return f"{change.operation} by {who}: {in_one_line(Event.of(change, currency).lines)}"
