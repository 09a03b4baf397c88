"""The pages that close a cart as abandoned, and that reopen a closed one."""

from carts.admin.base_view import WHY, Carts, ChangeView
from carts.admin.formatting import in_words
from carts.models import CartChange
from carts.models.writes import Changed
from carts.values import ABANDONED, Closing


class StatusView(ChangeView):
    """The base of the pages that end a cart or reopen it.

    Whatever has happened to the cart since the page was opened is shown first: it may be being
    paid for, or still in use.
    """

    def is_about(self, change: CartChange) -> bool:
        return True

    def clashes(self) -> bool:
        return bool(self.cart.version != self.since)


class AbandonView(StatusView):
    """The page that closes a cart which the customer has left, after a confirmation."""

    template = "abandon"
    title = "Close this cart as abandoned?"

    def message(self) -> str:
        return "Cart closed as abandoned"

    def change(self, carts: Carts, version: int) -> Changed:
        return carts.close_cart(self.cart_id, Closing(outcome=ABANDONED), version=version)


class ReopenView(StatusView):
    """The page that opens a closed cart again. It asks why."""

    template = "reopen"
    title = "Reopen this cart?"
    asks = WHY
    takes_closed = True

    def message(self) -> str:
        state = self.cart.state
        about = f", {in_words(state.reference)}" if state.reference else ""
        return f"Cart reopened: it was {state.status}{about}" if state.closed_on else ""

    def change(self, carts: Carts, version: int) -> Changed:
        return carts.reopen_cart(self.cart_id, version=version)
