"""The pages that change a cart itself, and that delete it."""

from typing import Any

from django.contrib.admin.models import DELETION
from django.urls import reverse
from django.utils.functional import cached_property

from carts.admin.forms import CartForm
from carts.admin.history import change_of, lines_of
from carts.admin.items import Carts, ChangeView


class CartView(ChangeView):
    """The page that changes the note, the instructions and the channels of a cart."""

    template = "correct"

    @cached_property
    def editor(self) -> CartForm:
        initial = {name: getattr(self.cart, name) for name in CartForm.names}
        return CartForm(self.request.POST or None, initial=initial)

    def context(self) -> dict[str, Any]:
        return {"title": "Change the cart"}

    def message(self) -> str:
        changes = change_of(self.editor.initial, self.editor.values(), self.cart.currency)
        return changes and f"Cart: {changes}"

    def change(self, carts: Carts, version: int) -> None:
        carts.change_cart(self.cart_id, self.editor.values(), version=version)


class DeleteCartView(ChangeView):
    """The page that deletes a cart with all that belongs to it, after a confirmation."""

    template = "delete"
    may = "has_delete_permission"
    flag = DELETION

    def context(self) -> dict[str, Any]:
        lines = lines_of(self.items.values(), self.cart.currency)
        return {"title": "Delete this cart?", "lines": lines}

    def message(self) -> str:
        """Return it with the reason, because the cart's history, where others stand, goes too."""
        why = self.why.cleaned_data["why"]
        return f"Cart {self.cart_id} deleted" + (f". Why: {why}" if why else "")

    def change(self, carts: Carts, version: int) -> None:
        carts.delete_cart(self.cart_id, version=version)

    def after(self) -> str:
        return reverse("admin:carts_cart_changelist")
