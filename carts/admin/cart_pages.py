"""The pages of a cart itself: they change it, close, reopen and delete it, and add a note."""

from collections.abc import Mapping
from typing import Any

from django.contrib.admin.models import ADDITION, DELETION
from django.urls import reverse

from carts.admin.change_page import WHY, ChangeView, Decision, EditView, FormState, Leave
from carts.admin.formatting import format_amount, format_value, label_of
from carts.admin.forms import CartForm
from carts.admin.history import Snapshot, in_one_line, lines_of_item, lines_of_items
from carts.models import Cart
from carts.models.cart_status import OPEN
from carts.models.manager import CartManager
from carts.records import ABANDONED, Closing


class ChangeCartView(EditView):
    template = "change_cart"
    title = "Change the cart"
    form = CartForm

    def subject(self, state: FormState, snapshot: Snapshot) -> Mapping[str, Any]:
        return snapshot.fields

    def decide(self, state: FormState) -> Decision | None:
        return self.decide_values(state, "Cart", CartManager.change_cart, self.merged_values(state))


class AbandonView(ChangeView):
    template = "abandon_cart"
    title = "Close this cart as abandoned?"

    def decide(self, state: FormState) -> Decision:
        closing = Closing(outcome=ABANDONED)
        return Decision("Cart closed as abandoned", CartManager.close_cart, (closing,))


class ReopenView(ChangeView):
    template = "reopen_cart"
    title = "Reopen this cart?"
    asks = WHY
    takes_closed = True

    def read(self) -> FormState:
        state = super().read()
        if state.cart.status == OPEN:
            raise Leave("This cart is open already.")
        return state

    def decide(self, state: FormState) -> Decision:
        closed = state.cart.state
        about = (closed.reference, closed.order_reference)
        was = ", ".join([closed.status, *(format_value(one) for one in about if one)])
        return Decision(f"Cart reopened: it was {was}", CartManager.reopen_cart)


class DeleteCartView(ChangeView):
    """The page that deletes a cart. The log of staff then says what it was."""

    template = "delete_cart"
    title = "Delete this cart?"
    permission = "carts.delete_cart"
    asks = WHY

    def context(self, state: FormState) -> dict[str, object]:
        lines = lines_of_items(state.current.items.values(), state.cart.currency)
        return {"lines": lines, "texts": _texts_of(state.cart)}

    def decide(self, state: FormState) -> Decision:
        cart, items = state.cart, state.current.items.values()
        message = f"Cart {cart.pk} deleted"
        lines = [line for item in items for line in lines_of_item(item, cart.currency)]
        was = in_one_line([*(lines or ["it was empty"]), *_texts_of(cart)])
        subtotal = f"{format_amount(cart.subtotal, cart.currency)} {cart.currency}"
        logged = f"{message}, {subtotal}, restaurant {cart.restaurant_key}: {was}"
        url = reverse("admin:carts_cart_changelist")
        return Decision(message, CartManager.delete_cart, flag=DELETION, logged=logged, url=url)


def _texts_of(cart: Cart) -> list[str]:
    texts = {name: getattr(cart, name) for name in ("note", "special_instructions")}
    return [f"{label_of(name)} {format_value(text)}" for name, text in texts.items() if text]


class NoteView(ChangeView):
    template = "add_note"
    title = "Add a note to the history"
    asks = "Note (for staff only)"
    takes_closed = True

    def subject(self, state: FormState, snapshot: Snapshot) -> None:
        """Return nothing: a note overwrites nothing."""

    def decide(self, state: FormState) -> Decision:
        note = format_value(state.why.cleaned_data["why"])
        return Decision(f"Note: {note}", flag=ADDITION)
