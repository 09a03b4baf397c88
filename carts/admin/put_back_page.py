"""The page that puts back an item, all items of the cart, or fields of the cart itself."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.formats import date_format
from django.utils.text import get_text_list
from django.utils.timezone import localtime

from carts.admin.change_page import ChangeView
from carts.admin.formatting import format_value, isolate, label_of
from carts.admin.history import Snapshot, lines_of_items
from carts.models.cart_change import WHY_LENGTH
from carts.models.manager import CartManager
from carts.records import Item


class PutBackView(ChangeView):
    template = "put_back"
    removed = (
        "There is nothing to put back. Perhaps the change is too old to be kept, or too much has "
        "changed since to work it out."
    )

    def load(self) -> bool:
        """Read the cart, the change, and what was before. Return False if that is not known."""
        if not super().load():
            return False
        before = self.snapshots.get(self.kwargs["version"] - 1)
        if not before or not before.next:
            return False
        self.undone = before.next
        self.item_id = self.undone.item_id
        self.item = self.current.items.get(self.item_id)
        self.back, self.now = self.subject(before), self.subject(self.current)
        self.when = date_format(localtime(self.undone.at), "j M Y, H:i:s T")
        return self.back not in (None, {})

    @property
    def _name(self) -> str:
        if self.item_id:
            return f"Item {format_value(self.back.display_name)}"
        if self.undone.changed_items:
            return "All items"
        return get_text_list([label_of(name).lower() for name in self.back], "and").capitalize()

    def subject(self, snapshot: Snapshot) -> Any:
        if self.item_id:
            return super().subject(snapshot)
        if self.undone.changed_items:
            return [*snapshot.items.items()]
        return {name: value for name, value in snapshot.fields.items() if name in self.undone.was}

    def get(self, request: HttpRequest) -> HttpResponse:
        return self.nothing_changed() if self.back == self.now else super().get(request)

    def context(self) -> dict[str, object]:
        name = isolate(self.back.display_name) if self.item_id else self._name.lower()
        later = self.events_since(self.kwargs["version"])
        context = {"title": f"Put {name} back?", "later": later}
        if self.item_id:
            return {**context, "back": self.back}
        return {**context, "now": self._lines(self.now), "then": self._lines(self.back)}

    def _lines(self, subject: Any) -> list[str]:
        if self.undone.changed_items:
            return lines_of_items([item for _, item in subject], self.cart.currency)
        return [f"{label_of(name)}: {format_value(value)}" for name, value in subject.items()]

    def save(self) -> HttpResponse:
        if self.back == self.now:
            return self.nothing_changed()
        # What was allowed then may be refused now.
        change: tuple[Any, ...] = CartManager.change_cart, self.back
        if self.item_id:
            put = CartManager.replace_item if self.item else CartManager.add_item
            change = put, self.item_id, Item(**self.back._asdict())
        elif self.undone.changed_items:
            items = {item_id: Item(**item._asdict()) for item_id, item in self.back}
            change = CartManager.replace_items, items
        # The operation does not say that this is a put-back.
        why, given = f"Put back as before {self.when}", self.why.cleaned_data["why"]
        if given:
            why = f"{why}: {given}"[:WHY_LENGTH]
        return self.write(f"{self._name} put back as before {self.when}", *change, why=why)
