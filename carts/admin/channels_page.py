"""The page that changes the channels of several carts."""

from typing import Any

from django.http import QueryDict

from carts.admin.formatting import isolate
from carts.admin.forms import CHANNELS, WhyForm, form_field
from carts.admin.history import difference_text, snapshots_since
from carts.admin.many_carts_page import SAME, ManyCartsView, Plan
from carts.models.manager import CartManager
from carts.records import NewCart


class ChannelsForm(WhyForm):
    """The new channels, and the reason. What is left empty stays as it is."""

    def __init__(self, data: QueryDict | None) -> None:
        super().__init__(data)
        self.fields = {name: form_field(NewCart, name) for name in CHANNELS} | self.fields
        for name in CHANNELS:
            self.fields[name].required = False

    def changes(self) -> dict[str, str]:
        return {name: self.cleaned_data[name] for name in CHANNELS if self.cleaned_data[name]}


class ChannelsView(ManyCartsView):
    template = "change_channels"
    title = "Change channels"

    def read_form(self) -> bool:
        form = self.form = ChannelsForm(self.request.POST if "why" in self.request.POST else None)
        self.changes = form.changes() if form.is_valid() else {}
        self.why = form.cleaned_data["why"] if self.changes else None
        return bool(self.changes)

    def plan(self, cart: Any, version: int) -> Plan:
        if not self.changes:
            return Plan(" · ".join(isolate(getattr(cart, name)) for name in CHANNELS))
        snapshot = snapshots_since(cart, {}, version).get(version)
        if not snapshot:
            return Plan("a version that is no longer kept")
        text = difference_text(snapshot.fields, self.changes, cart.currency)
        return Plan(text, [(CartManager.change_cart, self.changes)]) if text else SAME
