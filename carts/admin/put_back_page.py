"""The page that puts back an item, all items of the cart, or fields of the cart itself."""

from typing import Any

from django.contrib import messages
from django.utils.formats import date_format
from django.utils.text import get_text_list
from django.utils.timezone import localtime

from carts.admin.change_page import UNCHANGED, ChangeView, Decision, FormState, Leave
from carts.admin.formatting import format_value, isolate, label_of
from carts.admin.history import Snapshot, lines_of_items
from carts.models.cart_change import WHY_LENGTH
from carts.models.manager import CartManager
from carts.records import Item

NOT_KNOWN = (
    "There is nothing to put back. Perhaps the change is too old to be kept, or too much has "
    "changed since to work it out."
)


class PutBackView(ChangeView):
    template = "put_back"

    def read(self) -> FormState:
        """Read the cart, the change, and what was before. Raise Leave if that is not known."""
        state = super().read()
        before = self._before(state)
        if not before or not before.next:
            raise Leave(NOT_KNOWN)
        item_id = before.next.item_id
        state = state._replace(item_id=item_id, item=state.current.items.get(item_id))
        old, new = self._old_and_new(state)
        if old in (None, {}):
            raise Leave(NOT_KNOWN)
        if self.request.method != "POST" and old == new:
            raise Leave(UNCHANGED, messages.info, state.item_id)
        return state

    def _before(self, state: FormState) -> Any:
        """Return the cart as it was before the change, which is its `next`, if that is known."""
        return state.snapshots.get(self.kwargs["version"] - 1)

    def _old_and_new(self, state: FormState) -> tuple[Any, Any]:
        """Return what is put back, and what is in its place."""
        return self.subject(state, self._before(state)), self.subject(state, state.current)

    def subject(self, state: FormState, snapshot: Snapshot) -> Any:
        undone = self._before(state).next
        if undone.item_id:
            return super().subject(state, snapshot)
        if undone.changed_items:
            return [*snapshot.items.items()]
        return {name: value for name, value in snapshot.fields.items() if name in undone.old}

    def context(self, state: FormState) -> dict[str, object]:
        old, new = self._old_and_new(state)
        name = isolate(old.display_name) if state.item_id else _name(old).lower()
        later = self.events_since(state, self.kwargs["version"])
        context = {"title": f"Put {name} back?", "later": later}
        if state.item_id:
            return {**context, "old": old}
        old_lines, new_lines = (_lines(one, state.cart.currency) for one in (old, new))
        return {**context, "old_lines": old_lines, "new_lines": new_lines}

    def decide(self, state: FormState) -> Decision | None:
        old, new = self._old_and_new(state)
        if old == new:
            return None
        # What was allowed then may be refused now.
        method: Any = CartManager.change_cart
        values: tuple[object, ...] = (old,)
        if state.item_id:
            method = CartManager.replace_item if new else CartManager.add_item
            values = state.item_id, Item(**old._asdict())
        elif isinstance(old, list):
            items = {item_id: Item(**item._asdict()) for item_id, item in old}
            method, values = CartManager.replace_items, (items,)
        moment = date_format(localtime(self._before(state).next.at), "j M Y, H:i:s T")
        # The operation does not say that this is a put-back.
        why, given = f"Put back as before {moment}", state.why.cleaned_data["why"]
        if given:
            why = f"{why}: {given}"[:WHY_LENGTH]
        return Decision(f"{_name(old)} put back as before {moment}", method, values, why=why)


def _name(subject: Any) -> str:
    if isinstance(subject, Item):
        return f"Item {format_value(subject.display_name)}"
    if isinstance(subject, list):
        return "All items"
    return get_text_list([label_of(name).lower() for name in subject], "and").capitalize()


def _lines(subject: Any, currency: str) -> list[str]:
    if isinstance(subject, list):
        return lines_of_items([item for _, item in subject], currency)
    return [f"{label_of(name)}: {format_value(value)}" for name, value in subject.items()]
