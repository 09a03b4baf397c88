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

    def __init__(self, data: QueryDict) -> None:
        super().__init__(data)
        channels = {name: form_field(NewCart, name, may_be_empty=True) for name in CHANNELS}
        self.fields = channels | self.fields

    def changes(self) -> dict[str, str]:
        return {name: text for name in CHANNELS if (text := self.cleaned_data.get(name))}


class ChannelsView(ManyCartsView):
    template = "change_channels"
    title = "Change channels"
    form_class = ChannelsForm

    def read_form(self) -> bool:
        return super().read_form() and bool(self.form.changes())

    def plan(self, cart: Any, version: int) -> Plan:
        if not (changes := self.form.changes()):
            return Plan(" · ".join(isolate(getattr(cart, name)) for name in CHANNELS))
        snapshot = snapshots_since(cart, {}, version).get(version)
        if not snapshot:
            return Plan("a version that is no longer kept")
        text = difference_text(snapshot.fields, changes, cart.currency)
        return Plan(text, [(CartManager.change_cart, changes)]) if text else SAME
