"""The page that reopens several closed carts."""

from collections import ChainMap
from typing import Any

from carts.admin.change_page import WHY
from carts.admin.formatting import format_value, label_of
from carts.admin.forms import WhyForm
from carts.admin.many_carts_page import ManyCartsView, Plan
from carts.models.manager import CartManager


class ReopenManyView(ManyCartsView):
    template = "reopen_many"
    title = "Reopen the selected carts?"
    begins = "Cart reopened"
    takes_closed = True

    def read_form(self) -> bool:
        sent = self.request.POST
        self.form = WhyForm(sent if "why" in sent else None)
        self.form.fields["why"].required, self.form.fields["why"].label = True, WHY
        is_valid = self.form.is_valid()
        self.why = self.form.cleaned_data["why"] if is_valid else None
        return is_valid or not (self.form.is_bound or "sure" in sent)

    def plan(self, cart: Any, version: int) -> Plan:
        changes = cart.changes.filter(version__gt=version)
        # The oldest has the last word.
        was = ChainMap[str, Any](*(change.old for change in changes), cart.state._asdict())
        about = [name for name in ("reference", "order_reference") if was[name]]
        details = (f"{label_of(name).lower()} {format_value(was[name])}" for name in about)
        return Plan(
            f"{was['status']} → open", [(CartManager.reopen_cart, None)], ", ".join(details)
        )
