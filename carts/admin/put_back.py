"""The page that puts back what a change has changed."""

from collections.abc import Mapping
from typing import Any

from django.core.exceptions import ValidationError
from django.db import IntegrityError
from django.http import HttpRequest, HttpResponse
from django.utils.formats import date_format
from django.utils.text import get_text_list
from django.utils.timezone import localtime

from carts.admin.base_view import ChangeView
from carts.admin.formatting import in_words, label_of
from carts.admin.history import Items, cart_before, events_since, lines_of
from carts.models import CartChange
from carts.models.change import WHY_LENGTH, items_before
from carts.models.manager import CartManager
from carts.models.writes import Changed
from carts.values import Item


class PutBackView(ChangeView):
    """The page that makes what a change has changed what it was before, after a confirmation.

    That is an item, all items of the cart, or fields of the cart itself.
    """

    template = "put_back"
    removed = "There is nothing to put back. Perhaps the change is too old to be kept."
    back: Any  # what it was

    def load(self) -> bool:
        """Read the cart, the change, and what was before. Return False if that is not known."""
        if not super().load():
            return False
        version = self.kwargs["version"]
        changes = list(self.cart.changes.filter(version__gte=version).reverse())
        if not changes or changes[-1].version != version:
            return False
        self.undone = changes[-1]
        self.item_id = self.undone.item_id
        self.placed = self.items.get(self.item_id)
        fields = cart_before(self._fields(), changes)
        self.back = self.subject(items_before(self.items, changes), fields)
        return self.back not in (None, {})

    def subject(self, items: Items, fields: Mapping[str, Any]) -> Any:
        if self.item_id:
            return super().subject(items, fields)
        if self.undone.items:
            return [(item_id, placed.item) for item_id, placed in items.items()]
        return {name: value for name, value in fields.items() if name in self.undone.was}

    def is_about(self, change: CartChange) -> bool:
        if self.item_id:
            return super().is_about(change)
        if self.undone.items:
            return bool(change.items)
        return not change.items and bool(self.back.keys() & change.now.keys())

    def get(self, request: HttpRequest) -> HttpResponse:
        return self.page() if self.message() else self.nothing_changed()

    @property
    def name(self) -> str:
        if self.item_id:
            return f"Item {in_words(self.back.display_name)}"
        if self.undone.items:
            return "All items"
        return get_text_list([label_of(name).lower() for name in self.back], "and").capitalize()

    @property
    def when(self) -> str:
        """Return the time of the change, as the history shows it."""
        return date_format(localtime(self.undone.at), "j M Y, H:i:s T")

    def context(self) -> dict[str, Any]:
        later = events_since(self.cart, self.kwargs["version"])
        name = self.back.display_name if self.item_id else self.name.lower()
        context = {
            "title": f"Put {name} back?",
            "later": [event for event in later if self.is_about(event.change)],
        }
        if self.item_id:
            return {**context, "back": self.back}
        now, then = (self._lines(subject) for subject in (self.present(), self.back))
        return {**context, "now": now, "then": then}

    def _lines(self, subject: Any) -> list[str]:
        if self.undone.items:
            return lines_of([item for _, item in subject], self.cart.currency)
        return [f"{label_of(name)}: {in_words(value)}" for name, value in subject.items()]

    def message(self) -> str:
        if self.back == self.present():
            return ""
        return f"{self.name} put back as before {self.when}"

    def reason(self) -> str:
        """Return that this is a put-back, which its operation does not say, and why."""
        back, why = f"Put back as before {self.when}", super().reason()
        return f"{back}: {why}"[:WHY_LENGTH] if why else back

    def change(self, carts: CartManager, version: int) -> Changed:
        # What was allowed then may be refused now.
        try:
            if self.item_id:
                put = carts.replace_item if self.placed else carts.add_item
                item = Item(**self.back._asdict())
                return put(self.cart_id, self.item_id, item, version=version)
            if self.undone.items:
                items = {item_id: Item(**item._asdict()) for item_id, item in self.back}
                return carts.replace_items(self.cart_id, items, version=version)
            return carts.change_cart(self.cart_id, self.back, version=version)
        except IntegrityError as error:
            raise ValidationError("There is an item with this id already.") from error
