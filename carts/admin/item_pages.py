"""The pages that correct, add and remove an item of a cart."""

from collections.abc import Iterator, Mapping
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from uuid_utils.compat import uuid7

from carts.admin.change_page import ChangeView, Decision, EditView, FormState, Leave
from carts.admin.formatting import cart_url, format_value, isolate
from carts.admin.forms import ItemForm, offers
from carts.admin.history import Snapshot, in_one_line, lines_of_item
from carts.models import Cart
from carts.models.manager import CartManager
from carts.models.reads import carts_with, items_of
from carts.models.writes import Outcome
from carts.records import Item
from cartsvc.guids import parse_guid

# The carts of a restaurant that tell what it offers, and the most items in one of them.
RECENT = 20


class ItemView(EditView):
    """The page that corrects an item or adds one, perhaps `like` another of the cart."""

    template = "item_form"
    form = ItemForm

    def subject(self, state: FormState, snapshot: Snapshot) -> Mapping[str, Any]:
        """Return the fields of the item, or those that a new one begins with."""
        key = state.item_id or parse_guid(self.request.GET.get("like", ""))
        item = snapshot.items.get(key) if key else None
        return item._asdict() if item else {}

    def context(self, state: FormState) -> dict[str, object]:
        name = self.subject(state, state.opened).get("display_name")
        title = f"Add {isolate(name)} again" if name else "Add an item"
        if state.item:
            title = f"Correct {isolate(state.item.display_name)}"
        return {"title": title, "offered": offers(_recent_items(state.cart), state.cart.currency)}

    def post(self, request: HttpRequest) -> HttpResponse:
        try:
            return super().post(request)
        except Leave as left:
            # If only the item is gone, keep what was typed, to be added.
            self.kwargs.pop("item_id", None)
            return self.render(
                self.read(),
                error=f"{left.text} Nothing was saved. Save what you typed to add it as an item.",
            )

    def clash(self, state: FormState) -> FormState | None:
        if state.item:
            return super().clash(state)
        return None if state.knows_opened else state

    def decide(self, state: FormState) -> Decision | None:
        currency = state.cart.currency
        if state.item:
            name = f"Item {format_value(state.item.display_name)}"
            item = Item(**self.merged_values(state), currency=currency)
            return self.decide_values(state, name, CartManager.replace_item, state.item_id, item)
        item = Item(**state.editor.values(), currency=currency)

        def add(carts: CartManager, cart_id: UUID, **_: object) -> Outcome:
            return carts.add_item(cart_id, uuid7(), item)  # to any version

        return Decision(f"Item added: {in_one_line(lines_of_item(item, currency))}", add)


def _recent_items(cart: Cart) -> Iterator[Item]:
    """Yield the items of the restaurant's newest carts, of those that are not large."""
    newest = carts_with("restaurant_key", cart.restaurant_key).reverse()
    keys = list(newest.values_list("pk", flat=True)[:RECENT])
    carts = Cart.objects.with_items().filter(pk__in=keys, currency=cart.currency)
    for each in carts.filter(item_count__lte=RECENT).order_by("-pk"):
        yield from (placed.item for placed in items_of(each.items_json).values())


class RemoveItemView(ChangeView):
    template = "remove_item"

    def context(self, state: FormState) -> dict[str, object]:
        return {"title": f"Remove {isolate(state.item.display_name)}?"}

    def decide(self, state: FormState) -> Decision:
        message = f"Item {format_value(state.item.display_name)} removed"
        return Decision(
            message, CartManager.remove_item, (state.item_id,), url=cart_url(state.cart.pk)
        )
