from datetime import timedelta
from itertools import groupby
from typing import Any
from uuid import UUID

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, path, reverse
from django.utils.cache import get_conditional_response
from django.utils.timezone import localdate

from carts.admin import activity, search
from carts.admin.cart_pages import AbandonView, ChangeCartView, DeleteCartView, NoteView, ReopenView
from carts.admin.channels_page import ChannelsView
from carts.admin.formatting import LABELS, cart_url, parse_version
from carts.admin.history import timeline
from carts.admin.item_pages import ItemView, RemoveItemView
from carts.admin.put_back_many_page import PutBackManyView
from carts.admin.put_back_page import PutBackView
from carts.admin.reopen_many_page import ReopenManyView
from carts.admin.site import desk_page
from carts.admin.workbook import workbook_response
from carts.models import Cart, DeletedCart
from carts.models.cart_status import OPEN, expires_on
from carts.models.reads import items_of
from cartsvc.guids import parse_guid

# The most items on the slips that the page of a cart shows. Its order has all of them.
PRINTED_ITEMS = 100

# Of more items, the page has a filter, and one link of each: their forms have the others.
FEW_ITEMS = 25

# The pages that change a cart.
CHANGE_PAGES = (
    ("correct/", ChangeCartView, "cart_correct"),
    ("note/", NoteView, "cart_note"),
    ("before/<int:version>/", PutBackView, "item_put_back"),
    ("abandon/", AbandonView, "cart_abandon"),
    ("reopen/", ReopenView, "cart_reopen"),
    ("items/add/", ItemView, "item_add"),
    ("items/<uuid:item_id>/", ItemView, "item_change"),
    ("items/<uuid:item_id>/remove/", RemoveItemView, "item_remove"),
)


@admin.register(Cart)
class CartAdmin(admin.ModelAdmin):
    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view
        return [
            path("mine/", view(self.mine_view), name="carts_mine"),
            path("activity/", view(self.activity_view), name="carts_activity"),
            path("channels/", view(ChannelsView.as_view()), name="carts_channels"),
            path("put-back/", view(PutBackManyView.as_view()), name="carts_put_back_many"),
            path("reopen/", view(ReopenManyView.as_view()), name="carts_reopen_many"),
            *(
                path(f"<uuid:cart_id>/{route}", view(page.as_view()), name=f"carts_{name}")
                for route, page, name in CHANGE_PAGES
            ),
            *super().get_urls(),
        ]

    def changelist_view(self, request: HttpRequest, extra_context: object = None) -> HttpResponse:
        """Show the carts found, or give them as a workbook. A key opens the thing that has it."""
        self._check_view(request)
        form, result = search.FindForm(request.GET), search.SearchResult()
        if form.is_valid():
            as_file = "xlsx" in request.GET
            size = search.MAX_FOUND if as_file else search.CARTS_PER_PAGE
            try:
                result = search.find_carts(form.cleaned_data, size=size)
            except ValidationError as error:
                form.add_error("q", error)
            if result.opens:
                if "almost" in result.kinds:
                    messages.warning(request, "Nothing has this id. Below is one almost the same.")
                return HttpResponseRedirect(result.opens)
            if as_file:
                return workbook_response(result, form)
        context = {"title": "Carts", "form": form, "result": result}
        return desk_page(request, "search", context)

    def mine_view(self, request: HttpRequest) -> HttpResponse:
        """Show the search box and the carts that the member of staff changed last."""
        self._check_view(request)
        entries, _ = activity.newest_entries(request.user)
        keys = [entry.staff_entry.cart_id for entry in entries if hasattr(entry, "staff_entry")]
        carts = sorted(search.listed(keys), key=lambda cart: keys.index(cart.pk))
        result = search.SearchResult(carts)
        context = {"title": "Your last carts", "form": search.FindForm(), "result": result}
        return desk_page(request, "search", {**context, "is_mine": True})

    def change_view(
        self, request: HttpRequest, object_id: str, *_: object, **__: object
    ) -> HttpResponse:
        self._check_view(request)
        cart_id = parse_guid(object_id)
        carts = Cart.objects.with_items().annotate(expires_on=expires_on())
        cart = carts.filter(pk=cart_id).first()
        if answer := get_conditional_response(request, etag=cart and f'"{cart.version}"'):
            return answer  # to an open page: whether it is still so
        if not cart:
            return _unknown(request, cart_id)
        items, of_staff = items_of(cart.items_json), "staff" in request.GET
        before = parse_version(request.GET.get("before", ""))
        # What cannot be done to a closed cart is not offered.
        is_open = cart.status == OPEN
        context = {
            "title": f"Cart {cart.id}",
            "cart": cart,
            "is_open": is_open,
            "labels": LABELS,
            "items": [*items.values()],
            "has_many": len(items) > FEW_ITEMS,
            "printed": [*items.values()][:PRINTED_ITEMS],
            "unprinted": max(0, len(items) - PRINTED_ITEMS),
            "staff": activity.log_of(cart.id) if of_staff else None,
            "timeline": None if of_staff else timeline(cart, items, before),
        }
        return desk_page(request, "cart", context)

    def delete_view(self, request: HttpRequest, object_id: str, *_: object) -> Any:
        cart_id, view = parse_guid(object_id), DeleteCartView.as_view()
        return view(request, cart_id=cart_id) if cart_id else _unknown(request, None)

    def history_view(self, request: HttpRequest, object_id: str, *_: object) -> HttpResponse:
        self._check_view(request)
        cart_id = parse_guid(object_id)
        if not cart_id:
            return _unknown(request, None)
        deleted = DeletedCart.objects.filter(pk=cart_id).first()
        staff = activity.log_of(cart_id)
        if not (deleted or staff) or Cart.objects.filter(pk=cart_id).exists():
            return HttpResponseRedirect(f"{cart_url(cart_id)}?staff")
        context = {"title": f"Deleted cart {cart_id}", "cart_id": cart_id, "deleted": deleted}
        return desk_page(request, "deleted_cart", {**context, "staff": staff})

    def activity_view(self, request: HttpRequest) -> HttpResponse:
        """Show what staff did, to whoever manages accounts, and to others what they did."""
        form, title, filters = activity.ActivityForm(request.GET), "Staff activity", {}
        if not request.user.has_perm("auth.view_user"):
            self._check_view(request)
            title, filters = "Your activity", {"agent": request.user}
            del form.fields["agent"]
        today = localdate()
        context = {"title": title, "form": form, "today": today}
        if form.is_valid():
            entries, older = activity.newest_entries(**form.cleaned_data | filters)
            actions = [list(same) for _, same in groupby(entries, activity.request_of)]
            context |= {"actions": actions, "older": older, "yesterday": today - timedelta(days=1)}
        return desk_page(request, "staff_activity", context)

    def _check_view(self, request: HttpRequest) -> None:
        if not self.has_view_or_change_permission(request):
            raise PermissionDenied


def _unknown(request: HttpRequest, cart_id: UUID | None) -> HttpResponse:
    if cart_id and activity.is_deleted(cart_id):
        return HttpResponseRedirect(reverse("admin:carts_cart_history", args=[cart_id]))
    # A link could hold any text, so only a valid id is repeated.
    cart = f"cart {cart_id}" if cart_id else "such cart"
    messages.warning(request, f"There is no {cart}. Perhaps it was deleted?")
    url = reverse("admin:carts_cart_changelist")
    return HttpResponseRedirect(f"{url}?q={cart_id}" if cart_id else url)
