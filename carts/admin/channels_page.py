"""The page that changes the channels of several carts, each under its own lock, after a preview."""

from django.contrib import messages
from django.contrib.admin.models import CHANGE
from django.core.exceptions import PermissionDenied
from django.db import OperationalError, transaction
from django.db.models import Subquery
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.urls import reverse
from django.views.generic import View

from carts.admin.activity import author_of, log
from carts.admin.change_view import BUSY
from carts.admin.formatting import format_error
from carts.admin.forms import CHANNELS, WhyForm, form_field
from carts.admin.history import change_of
from carts.admin.search import CARTS_PER_PAGE
from carts.admin.search_terms import ITEMS_OF_CART
from carts.admin.site import desk_page
from carts.models import Cart
from carts.models.closing import OPEN
from carts.records import NewCart
from cartsvc.guids import parse_guid
from cartsvc.request_errors import ApiError


class ChannelsForm(WhyForm):
    """The new channels, and the reason. What is left empty stays as it is."""

    def __init__(self, data: QueryDict | None) -> None:
        super().__init__(data)
        self.fields = {name: form_field(NewCart, name) for name in CHANNELS} | self.fields
        for name in CHANNELS:
            self.fields[name].required = False

    def changes(self) -> dict[str, str]:
        return {name: self.cleaned_data[name] for name in CHANNELS if self.cleaned_data[name]}


class ChannelsView(View):
    def dispatch(self, request: HttpRequest) -> HttpResponse:
        if not request.user.has_perm("carts.change_cart"):
            raise PermissionDenied
        keys = filter(None, map(parse_guid, request.POST.getlist("cart")[:CARTS_PER_PAGE]))
        dish = Subquery(ITEMS_OF_CART.values("display_name")[:1])
        carts = list(Cart.objects.filter(pk__in=list(keys)).order_by("-pk").annotate(dish=dish))
        list_query = request.POST.get("list_query", "")
        back = HttpResponseRedirect(f"{reverse('admin:carts_cart_changelist')}?{list_query}")
        if not carts:
            messages.warning(request, "No cart was selected.")
            return back
        form = ChannelsForm(request.POST if "why" in request.POST else None)
        changes, is_sure = form.changes() if form.is_valid() else {}, "sure" in request.POST
        lines = [(cart, change_of(vars(cart), changes, cart.currency)) for cart in carts]
        tried = [(cart, change) for cart, change in lines if change and cart.status == OPEN]
        if changes and is_sure:
            results = [(cart, self._change(cart, change, form)) for cart, change in tried]
            lines = tried = [(cart, error) for cart, error in results if error]
            messages.success(request, f"Carts changed: {len(results) - len(lines)}.")
            if not lines:
                return back
            messages.error(request, f"Carts that could not be changed: {len(lines)}. See below.")
        context = {
            "title": "Change channels",
            "form": form,
            "lines": lines,
            "changes": changes,
            "list_query": list_query,
            "count": len(tried),
            "is_sure": is_sure,
        }
        return desk_page(request, "change_channels", context)

    def _change(self, cart: Cart, change: str, form: ChannelsForm) -> str:
        """Return why the change failed, or ""."""
        why = form.cleaned_data["why"]
        carts = Cart.objects.by(author_of(self.request, why), profile_key=cart.profile_key)
        try:
            with transaction.atomic():
                changed = carts.change_cart(cart.pk, form.changes(), version=cart.version)
                log(self.request, cart, CHANGE, f"Cart: {change}", why, changed.version)
        except OperationalError:
            return BUSY
        except ApiError as error:
            return format_error(error)
        return ""
