"""The pages of a cart itself: they change it, close, reopen and delete it, and add a note."""

from collections.abc import Mapping

from django.contrib.admin.models import ADDITION, DELETION
from django.http import HttpResponse
from django.urls import reverse

from carts.admin.change_page import WHY, ChangeView, EditView
from carts.admin.formatting import format_amount, format_value, label_of
from carts.admin.forms import CartForm
from carts.admin.history import Snapshot, in_one_line, lines_of_item, lines_of_items
from carts.models.cart_status import OPEN
from carts.models.manager import CartManager
from carts.models.writes import Changed
from carts.records import ABANDONED, Closing, Reopening


class ChangeCartView(EditView):
    template = "change_cart"
    title = "Change the cart"
    form = CartForm

    def fields(self, snapshot: Snapshot) -> Mapping[str, object]:
        return snapshot.fields

    def save(self) -> HttpResponse:
        return self.write_values("Cart", CartManager.change_cart, self.values)


class AbandonView(ChangeView):
    template = "abandon_cart"
    title = "Close this cart as abandoned?"

    def save(self) -> HttpResponse:
        closing = Closing(outcome=ABANDONED)
        return self.write("Cart closed as abandoned", CartManager.close_cart, closing)


class ReopenView(ChangeView):
    template = "reopen_cart"
    title = "Reopen this cart?"
    asks = WHY
    takes_closed = True
    removed = "This cart is open already."

    def load(self) -> bool:
        return super().load() and self.cart.status != OPEN

    def save(self) -> HttpResponse:
        state = self.cart.state
        about = (state.reference, state.order_reference)
        was = ", ".join([state.status, *(format_value(one) for one in about if one)])
        return self.write(f"Cart reopened: it was {was}", CartManager.reopen_cart, Reopening())


class DeleteCartView(ChangeView):
    """The page that deletes a cart. The log of staff then says what it was."""

    template = "delete_cart"
    title = "Delete this cart?"
    permission = "carts.delete_cart"
    asks = WHY

    def context(self) -> dict[str, object]:
        lines = lines_of_items(self.current.items.values(), self.cart.currency)
        return {"title": self.title, "lines": lines, "texts": self._texts()}

    def save(self) -> HttpResponse:
        message, cart, items = f"Cart {self.cart_id} deleted", self.cart, self.current.items
        lines = [line for item in items.values() for line in lines_of_item(item, cart.currency)]
        was = in_one_line([*(lines or ["it was empty"]), *self._texts()])
        subtotal = f"{format_amount(cart.subtotal, cart.currency)} {cart.currency}"
        logged = f"{message}, {subtotal}, restaurant {cart.restaurant_key}: {was}"
        url = reverse("admin:carts_cart_changelist")
        return self.write(message, CartManager.delete_cart, flag=DELETION, logged=logged, url=url)

    def _texts(self) -> list[str]:
        texts = {name: getattr(self.cart, name) for name in ("note", "special_instructions")}
        return [f"{label_of(name)} {format_value(text)}" for name, text in texts.items() if text]


class NoteView(ChangeView):
    template = "add_note"
    title = "Add a note to the history"
    asks = "Note (for staff only)"
    takes_closed = True

    def subject(self, snapshot: Snapshot) -> None:
        """Return nothing: a note overwrites nothing."""

    def save(self) -> HttpResponse:
        def change_nothing(*_: object, version: int) -> Changed:
            return Changed(version, self.cart.subtotal)

        note = format_value(self.why.cleaned_data["why"])
        return self.write(f"Note: {note}", change_nothing, flag=ADDITION)
