"""The page that puts all items of a cart back."""

from typing import Any

from carts.admin.history import lines_of
from carts.admin.items import Carts, ChangeView, PutBackView
from carts.models.change import items_before
from carts.values import Item


class PutItemsBackView(PutBackView):
    """The page that makes a cart's items what they were before a change of several."""

    template = "put_items_back"

    def load(self) -> bool:
        """Read the cart, and what its items were. Return False if that is not known."""
        if not ChangeView.load(self):
            return False
        version = self.kwargs["version"]
        changes = list(self.cart.changes.filter(version__gte=version).reverse())
        if not changes or changes[-1].version != version or not changes[-1].items:
            return False
        self.before = items_before(self.items, changes)
        return True

    def context(self) -> dict[str, Any]:
        now, then = (
            lines_of(items.values(), self.cart.currency) for items in (self.items, self.before)
        )
        version = self.kwargs["version"]
        return {"title": "Put the items back?", "now": now, "then": then, "version": version}

    def message(self) -> str:
        now, then = (
            [(placed.id, placed.item) for placed in items.values()]
            for items in (self.items, self.before)
        )
        if now == then:
            return ""
        return f"Items put back as they were before version {self.kwargs['version']}"

    def change(self, carts: Carts, version: int) -> None:
        # What was allowed then may be refused now.
        items = {key: Item(**placed.item._asdict()) for key, placed in self.before.items()}
        carts.replace_items(self.cart_id, items, version=version)

    def after(self) -> str:
        return ChangeView.after(self)
