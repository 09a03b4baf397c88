"""The page that reopens several closed carts."""

from collections import ChainMap
from typing import Any

from carts.admin.change_page import WHY
from carts.admin.formatting import format_value, label_of
from carts.admin.many_carts_page import ManyCartsView, Plan
from carts.models.manager import CartManager


class ReopenManyView(ManyCartsView):
    template = "reopen_many"
    title = "Reopen the selected carts?"
    begins = "Cart reopened"
    takes_closed = True

    def read_form(self) -> bool:
        why = self.form.fields["why"]
        # A preview needs no reason.
        why.label, why.required = WHY, "sure" in self.request.POST
        why.widget.attrs["required"] = True
        return super().read_form()

    def plan(self, cart: Any, version: int) -> Plan:
        changes = cart.changes.filter(version__gt=version)
        # The oldest has the last word.
        was = ChainMap[str, Any](*(change.old for change in changes), cart.state._asdict())
        about = [name for name in ("reference", "order_reference") if was[name]]
        details = (f"{label_of(name).lower()} {format_value(was[name])}" for name in about)
        return Plan(
            f"{was['status']} → open", [(CartManager.reopen_cart, None)], ", ".join(details)
        )
