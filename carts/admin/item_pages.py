"""The pages that correct, add and remove an item of a cart."""

from collections.abc import Iterator, Mapping
from uuid import UUID

from django.http import HttpResponse
from django.urls import reverse
from uuid_utils.compat import uuid7

from carts.admin.change_page import ChangeView, EditView
from carts.admin.formatting import cart_url, format_value, isolate
from carts.admin.forms import ItemForm, offers
from carts.admin.history import Snapshot, in_one_line, lines_of_item
from carts.admin.search_terms import carts_with
from carts.models import Cart
from carts.models.manager import CartManager
from carts.models.reads import items_of
from carts.models.writes import Changed
from carts.records import Item
from cartsvc.guids import parse_guid

# The carts of a restaurant that tell what it offers, and the most items in one of them.
RECENT = 20


class ItemView(EditView):
    """The page that corrects an item or adds one, perhaps `like` another of the cart."""

    template = "item_form"
    form = ItemForm
    action = ""  # where the form is sent, if not to its own page

    def fields(self, snapshot: Snapshot) -> Mapping[str, object]:
        """Return the fields of the item, or those that a new one begins with."""
        key = self.item_id or parse_guid(self.request.GET.get("like", ""))
        item = snapshot.items.get(key) if key else None
        return item._asdict() if item else {}

    def context(self) -> dict[str, object]:
        name = self.fields(self.opened).get("display_name")
        title = f"Add {isolate(name)} again" if name else "Add an item"
        if self.item:
            title = f"Correct {isolate(self.item.display_name)}"
        offered = offers(self._recent(), self.cart.currency)
        return {"title": title, "offered": offered, "action": self.action, "item_id": self.item_id}

    def _recent(self) -> Iterator[Item]:
        """Yield the items of the restaurant's newest carts, of those that are not large."""
        newest = carts_with("restaurant_key", self.cart.restaurant_key).reverse()
        keys = list(newest.values_list("pk", flat=True)[:RECENT])
        carts = Cart.objects.with_items().filter(pk__in=keys, currency=self.cart.currency)
        for cart in carts.filter(item_count__lte=RECENT).order_by("-pk"):
            yield from (placed.item for placed in items_of(cart.items_json).values())

    def leave_removed(self) -> HttpResponse:
        """Keep what was typed, to be added, if only the item is gone."""
        if not self.cart or self.request.method != "POST":
            return super().leave_removed()
        self.item_id = None
        self.action = reverse("admin:carts_item_add", args=[self.cart_id])
        self.editor = self.form(self.request.POST, currency=self.cart.currency)
        return self.render(
            error=f"{self.removed} Nothing was saved. Save what you typed to add it as an item."
        )

    def clashes(self) -> bool:
        if self.item_id:
            return super().clashes()
        self.values = self.editor.values()
        return not self.knows_opened

    def save(self) -> HttpResponse:
        item = Item(**self.values, currency=self.cart.currency)
        if self.item:
            name = f"Item {format_value(self.item.display_name)}"
            return self.write_values(name, CartManager.replace_item, self.item_id, item)

        def add(carts: CartManager, cart_id: UUID, **_: object) -> Changed:
            return carts.add_item(cart_id, uuid7(), item)  # to any version

        return self.write(
            f"Item added: {in_one_line(lines_of_item(item, self.cart.currency))}", add
        )


class RemoveItemView(ChangeView):
    template = "remove_item"

    def context(self) -> dict[str, object]:
        return {"title": f"Remove {isolate(self.item.display_name)}?"}

    def save(self) -> HttpResponse:
        message = f"Item {format_value(self.item.display_name)} removed"
        cart = cart_url(self.cart_id)
        return self.write(message, CartManager.remove_item, self.item_id, url=cart)
