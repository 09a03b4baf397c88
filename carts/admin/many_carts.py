"""The base of the pages that change several carts: after a preview, each under its own lock.

The preview carries the version of each cart that it would change. If what it showed of a cart is
not so any more, the cart is left as it is, and the page shows both.
"""

from collections.abc import Callable, Sequence
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

from carts.admin.activity import author_of, log
from carts.admin.change_view import BUSY
from carts.admin.formatting import format_error, parse_version
from carts.admin.forms import WhyForm
from carts.admin.search import CARTS_PER_PAGE
from carts.admin.search_terms import ITEMS_OF_CART
from carts.admin.site import desk_page
from carts.models import Cart
from carts.models.closing import OPEN
from carts.models.writes import Changed
from cartsvc.guids import parse_guid
from cartsvc.request_errors import ApiError

# A request has four seconds for all its statements.
BULK_SECONDS = 2.5

DELETED = "This cart was deleted."
NO_TIME = "There was no time left for this cart."


class Plan(NamedTuple):
    """What is to be done with a cart, in words: methods of the manager, each with its value."""

    text: str
    changes: Sequence[tuple[Callable[..., Changed], object]] = ()


class CartLine(NamedTuple):
    """What the page says of a cart, or of one that is no more, and the version to be changed."""

    key: UUID
    cart: Any
    text: str
    version: int | None = None


class ManyCartsView(View):
    template = ""
    title = ""

    def read_form(self) -> bool:
        """Read the form. Return False if it does not say what to do."""
        raise NotImplementedError

    def current_text(self, cart: Cart) -> str:
        """Return what the page shows of a cart until the form says what to do."""
        return ""

    def plan(self, cart: Any, version: int) -> Plan:
        """Return what is to be done with an open cart, as it was at the version."""
        raise NotImplementedError

    def log_and_why(self) -> tuple[str, str | None]:
        """Return how the log of staff begins, and the reason that the history keeps."""
        raise NotImplementedError

    def own_context(self) -> dict[str, object]:
        return {}

    def dispatch(self, request: HttpRequest) -> HttpResponse:
        if not request.user.has_perm("carts.change_cart"):
            raise PermissionDenied
        chosen = (text.partition(":") for text in request.POST.getlist("cart")[:CARTS_PER_PAGE])
        versions = {
            key: parse_version(version) for text, _, version in chosen if (key := parse_guid(text))
        }
        self.list_query = request.POST.get("list_query", "")
        back = HttpResponseRedirect(f"{reverse('admin:carts_cart_changelist')}?{self.list_query}")
        if not versions:
            messages.warning(request, "No cart was selected.")
            return back
        self.form: WhyForm
        is_ready = self.read_form()
        is_sure = is_ready and "sure" in request.POST
        lines = self._lines(versions, is_sure=is_sure, is_ready=is_ready)
        if is_sure:
            kept = [key for key, version in versions.items() if version is None]
            messages.success(request, f"Carts changed: {len(versions) - len(kept) - len(lines)}.")
            if kept:
                messages.info(request, f"Left as they are, as the preview said: {len(kept)}.")
            if not lines:
                return back
            messages.error(request, f"Carts that could not be changed: {len(lines)}. See below.")
        context = {
            "title": self.title,
            "form": self.form,
            "lines": lines,
            "list_query": self.list_query,
            "count": len([line for line in lines if line.version]),
            "is_ready": is_ready,
            "is_sure": is_sure,
            **self.own_context(),
        }
        return desk_page(request, self.template, context)

    def _lines(
        self, versions: dict[UUID, int | None], *, is_sure: bool, is_ready: bool
    ) -> list[CartLine]:
        """Return a line for each cart, the newest first; if `is_sure`, of those not changed."""
        dish, end = Subquery(ITEMS_OF_CART.values("display_name")[:1]), monotonic() + BULK_SECONDS
        carts: dict[UUID, Any] = Cart.objects.annotate(dish=dish).in_bulk(versions)
        lines = []
        for key in sorted(versions, reverse=True):
            cart, version = carts.get(key), versions[key]
            if is_sure and version is None:
                continue
            if not cart:
                lines.append(CartLine(key, None, DELETED))
            elif monotonic() > end:
                lines.append(CartLine(key, cart, NO_TIME))
            elif not is_ready:
                lines.append(CartLine(key, cart, self.current_text(cart)))
            elif not is_sure:
                plan = self._plan_now(cart)
                lines.append(CartLine(key, cart, plan.text, cart.version if plan.changes else None))
            elif left := self._change(cart, version or 0):
                lines.append(CartLine(key, cart, left))
        return lines

    def _plan_now(self, cart: Cart) -> Plan:
        if cart.status != OPEN:
            return Plan(f"{cart.status}, so it stays as it is")
        return self.plan(cart, cart.version)

    def _change(self, cart: Cart, version: int) -> str:
        """Change the cart as the preview of this version said. Return why it was left, or ""."""
        plan = self._plan_now(cart)
        if cart.version != version and plan.text != (seen := self.plan(cart, version).text):
            return f"It has changed since the preview, which said: {seen}. Now: {plan.text}"
        if not plan.changes:
            return plan.text
        begins, why = self.log_and_why()
        carts = Cart.objects.by(author_of(self.request, why), profile_key=cart.profile_key)
        changed_version, given = cart.version, self.form.cleaned_data["why"]
        try:
            with transaction.atomic():
                for method, value in plan.changes:
                    changed = method(carts, cart.pk, value, version=changed_version)
                    changed_version = changed.version
                log(self.request, cart, CHANGE, f"{begins}: {plan.text}", given, changed_version)
        except OperationalError:
            return BUSY
        except ApiError as error:
            return format_error(error)
        return ""
