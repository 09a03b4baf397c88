"""The pages that close a cart as abandoned, and that reopen a closed one."""

from typing import Any

from carts.admin.change_view import Carts, ChangeView
from carts.admin.formatting import in_words
from carts.values import ABANDONED, Closing


class AbandonView(ChangeView):
    """The page that closes a cart which the customer has left, after a confirmation."""

    template = "abandon"

    def context(self) -> dict[str, Any]:
        return {"title": "Close this cart as abandoned?"}

    def message(self) -> str:
        return "Cart closed as abandoned"

    def change(self, carts: Carts, version: int) -> None:
        carts.close_cart(self.cart_id, Closing(outcome=ABANDONED), version=version)


class ReopenView(ChangeView):
    """The page that opens a closed cart again. It asks why."""

    template = "reopen"

    def load(self) -> bool:
        field = self.why.fields["why"]
        field.required, field.label = True, "Why (for staff only)"
        return super().load()

    def context(self) -> dict[str, Any]:
        return {"title": "Reopen this cart?"}

    def message(self) -> str:
        state = self.cart.state
        about = f", {in_words(state.reference)}" if state.reference else ""
        return f"Cart reopened: it was {state.status}{about}" if state.closed_on else ""

    def change(self, carts: Carts, version: int) -> None:
        carts.reopen_cart(self.cart_id, version=version)
