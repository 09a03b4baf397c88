"""The base of the pages that change several carts: after a preview, each under its own lock.

The preview carries the version and the customer of each cart that it would change. If what it
showed of a cart is not so any more, the cart is left as it is, and the page shows both.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from time import monotonic
from typing import Any, NamedTuple
from uuid import UUID

from django.contrib import messages
from django.contrib.admin.models import CHANGE
from django.core.exceptions import PermissionDenied
from django.db import OperationalError, transaction
from django.db.models import Subquery
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.views.generic import View

from carts.admin.activity import author_of, log_change
from carts.admin.change_page import BUSY
from carts.admin.formatting import format_error, parse_version
from carts.admin.forms import WhyForm
from carts.admin.search import CARTS_PER_PAGE
from carts.admin.search_terms import ITEMS_OF_CART
from carts.admin.site import desk_page
from carts.models import Cart
from carts.models.cart_status import OPEN
from carts.models.writes import Outcome
from cartsvc.guids import parse_guid
from cartsvc.request_errors import ApiError

# A request has four seconds for all its statements.
BULK_SECONDS = 2.5

DELETED = "This cart was deleted."
NOT_REACHED = "not reached yet"


class Plan(NamedTuple):
    """What is to be done with a cart: methods of the manager, each with its value.

    The `text` says it in words that other carts may share, and `details` what is of this one alone.
    """

    text: str
    changes: Sequence[tuple[Callable[..., Outcome], object]] = ()
    details: str = ""

    def __str__(self) -> str:
        return "; ".join(filter(None, (self.text, self.details)))


SAME = Plan("stays as it is")


class ManyCartsView(View):
    """`begins` is how an entry in the log of staff begins, `why` the reason in the history.

    The page is about open carts, or if it `takes_closed`, about closed ones.
    """

    template = ""
    title = ""
    form_class: type[WhyForm] = WhyForm
    form: Any
    begins = "Cart"
    why: str | None = None
    takes_closed = False

    def read_form(self) -> bool:
        """Return whether it says what to do."""
        is_valid = self.form.is_valid()
        self.why = self.form.cleaned_data.get("why")
        return is_valid

    def plan(self, cart: Any, version: int) -> Plan:
        """Return what is to be done with such a cart, as it was at the version."""
        raise NotImplementedError

    def dispatch(self, request: HttpRequest) -> HttpResponse:
        if not request.user.has_perm("carts.change_cart"):
            raise PermissionDenied
        chosen = (text.partition(":") for text in request.POST.getlist("cart")[:CARTS_PER_PAGE])
        sent = {key: shown for text, _, shown in chosen if (key := parse_guid(text))}
        list_url = f"{reverse('admin:carts_cart_changelist')}?{request.META['QUERY_STRING']}"
        if not sent:
            # After logging in, a GET comes in place of the POST.
            text = "No cart was selected." if request.POST else "Select the carts again."
            messages.warning(request, text)
            return HttpResponseRedirect(list_url)
        self.form = self.form_class(request.POST)
        is_ready = self.read_form()
        is_sure = is_ready and "sure" in request.POST
        lines = [*self._lines(sent, is_sure)]
        lines.sort(key=lambda line: (":" not in line["shown"], line["plan"].text))
        if is_sure:
            kept = [*sent.values()].count("0")
            failed = sum(line["plan"].text != NOT_REACHED for line in lines)
            messages.success(request, f"Carts changed: {len(sent) - kept - len(lines)}.")
            if kept:
                messages.info(request, f"Left as they are, as the preview said: {kept}.")
            if failed:
                messages.error(request, f"Carts that could not be changed: {failed}. See below.")
            if not lines:
                return HttpResponseRedirect(list_url)
        context = {"title": self.title, "form": self.form, "lines": lines, "list_url": list_url}
        context |= {"is_ready": is_ready, "is_sure": is_sure}
        context["count"] = sum(":" in line["shown"] for line in lines)
        context["rest"] = sum(not line["shown"] for line in lines)
        return desk_page(request, self.template, context)

    def _lines(self, sent: Mapping[UUID, str], is_sure: bool) -> Iterator[dict[str, Any]]:
        """Yield what to say of each cart, the newest first; if it is sure, of those not changed.

        What a preview has `shown` of a cart is its version and its customer, 0 if it stays as it
        is, and "" as long as there was no time for it.
        """
        dish, end = Subquery(ITEMS_OF_CART.values("display_name")[:1]), monotonic() + BULK_SECONDS
        carts: dict[UUID, Any] = Cart.objects.annotate(dish=dish).in_bulk(sent)
        for key in sorted(sent, reverse=True):
            cart, plan, shown = carts.get(key), Plan(NOT_REACHED), sent[key] if is_sure else ""
            if shown == "0":
                continue
            if not cart:
                plan, shown = Plan(DELETED), "0"
            elif monotonic() > end or (is_sure and not shown):
                pass
            elif is_sure:
                plan, shown = Plan(self._change(cart, shown)), ""
            else:
                plan = self._current_plan(cart)
                shown = f"{cart.version}:{cart.profile_key}" if plan.changes else "0"
            if plan.text:
                yield {"key": key, "cart": cart, "plan": plan, "shown": shown}

    def _current_plan(self, cart: Cart) -> Plan:
        if (cart.status != OPEN) != self.takes_closed:
            return Plan(f"{cart.status}, so it stays as it is")
        return self.plan(cart, cart.version)

    def _change(self, cart: Cart, shown: str) -> str:
        """Change the cart as the preview said that was shown. Return why it was left, or ""."""
        number, _, customer = shown.partition(":")
        if customer != str(cart.profile_key):
            return "It has gone to another customer since the preview."
        seen, now = parse_version(number) or 0, self._current_plan(cart)
        if cart.version != seen and str(now) != (said := str(self.plan(cart, seen))):
            return f"It has changed since the preview, which said: {said}. Now: {now}"
        if not now.changes:
            return str(now)
        carts = Cart.objects.by(author_of(self.request, self.why), profile_key=cart.profile_key)
        version, given = cart.version, self.form.cleaned_data["why"]
        try:
            with transaction.atomic():
                for method, value in now.changes:
                    version = method(carts, cart.pk, value, version=version).version
                log_change(self.request, cart, CHANGE, f"{self.begins}: {now}", given, version)
        except OperationalError:
            return BUSY
        except ApiError as error:
            return format_error(error)
        return ""
