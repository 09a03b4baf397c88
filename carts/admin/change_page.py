"""The base of the pages that change a cart, through the model layer's writes.

A form carries the version of the cart with which it was opened, from which the history tells what
the form has shown. A field that nobody touched keeps the value that the cart has now. If somebody
else has changed meanwhile what the form changes, nothing is saved. The page then shows both, keeps
what was typed, and asks again.
"""

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.admin.models import ADDITION, CHANGE
from django.core.exceptions import PermissionDenied
from django.db import OperationalError, transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.utils.functional import cached_property
from django.views.generic import View
from uuid_utils.compat import uuid7

from carts.admin.activity import author_of, log_change
from carts.admin.formatting import cart_url, format_amount, format_error, parse_version
from carts.admin.forms import RecordForm, WhyForm
from carts.admin.history import Event, Snapshot, difference_text, snapshots_since
from carts.admin.site import desk_page
from carts.cart_errors import CartClosed, IdempotencyKeyReused, VersionMismatch
from carts.models import Cart, IdempotencyRecord
from carts.models.cart_status import OPEN
from carts.models.reads import items_of
from carts.models.writes import Changed
from cartsvc.guids import parse_guid
from cartsvc.request_errors import ApiError

# A COMMIT that is not answered may have happened. Then the cart's version tells, the next time.
BUSY = (
    "This cart could not be changed just now: somebody else is changing it, or the database is "
    "slow. Please save again. If it was saved after all, this page will say so."
)

SAVED = (
    "This form was saved before, with other values. To save these as well, press the button again."
)

# How often a change is tried if others change the same cart at that moment.
TRIES = 3

# The label of a reason that must be given.
WHY = "Why (for staff only)"


class ChangeView(View):
    """`removed` is what to say if the cart exists, but not what the page is about. `editor` is the
    form of what is changed; a page that only asks has none. `asks` is the label of the reason, if
    it must be given. `takes_closed` tells whether a closed cart has this page.
    """

    template = ""
    title = ""
    permission = "carts.change_cart"
    removed = "This item was removed meanwhile."
    editor: Any = None
    asks = ""
    takes_closed = False

    def context(self) -> dict[str, object]:
        """Return what only the page's template needs, and the title."""
        return {"title": self.title}

    def subject(self, snapshot: Snapshot) -> object:
        """Return what the page is about, as it was then: an item, or the whole cart."""
        return snapshot.items.get(self.item_id) if self.item_id else snapshot.version

    def save(self) -> HttpResponse:
        """Decide what to change, of the cart as it was read, and change it with `write`."""
        raise NotImplementedError

    def dispatch(
        self, request: HttpRequest, cart_id: UUID, item_id: UUID | None = None, **_: object
    ) -> HttpResponseBase:
        if not request.user.has_perm(self.permission):
            raise PermissionDenied
        self.cart_id: UUID = cart_id
        self.item_id: Any = item_id
        self.key = parse_guid(request.POST.get("key", ""))
        self.why = WhyForm(request.POST or None)
        if self.asks:
            self.why.fields["why"].required, self.why.fields["why"].label = True, self.asks
        return super().dispatch(request) if self.load() else self.leave_removed()

    def get(self, request: HttpRequest) -> HttpResponse:
        try:
            self.require_open()
        except CartClosed as closed:
            return self.leave(messages.error, format_error(closed), cart_url(self.cart_id))
        return self.render()

    def post(self, request: HttpRequest) -> HttpResponse:
        if not all([self.why.is_valid(), not self.editor or self.editor.is_valid()]):
            return self.render()
        error = BUSY
        for _ in range(TRIES):
            try:
                self.require_open()
                if self.clashes():
                    return self.render(clash=True)
                return self.save()
            except OperationalError:
                pass
            except ApiError as api_error:
                if not self.load():
                    return self.leave_removed()
                if isinstance(api_error, VersionMismatch):  # changed since it was read: decide anew
                    continue
                is_saved = isinstance(api_error, IdempotencyKeyReused)
                error = SAVED if is_saved else f"{format_error(api_error)} Nothing was saved."
            break
        return self.render(error=error)

    def load(self) -> bool:
        """Read the current cart. Return False if the cart or its item does not exist."""
        self.cart: Any = Cart.objects.with_items().filter(pk=self.cart_id).first()
        if not self.cart:
            return False
        self.opened_version = self.cart.version
        if self.request.method == "POST":
            self.opened_version = parse_version(self.request.POST.get("version", "")) or 0
        # What a put-back undoes may be older than its form.
        oldest = min(self.opened_version, self.kwargs.get("version", self.opened_version + 1) - 1)
        self.snapshots = snapshots_since(self.cart, items_of(self.cart.items_json), oldest)
        self.current = self.snapshots[self.cart.version]
        self.item: Any = self.current.items.get(self.item_id)
        then = self.snapshots.get(self.opened_version)
        # No form of an item was opened before the item came.
        self.knows_opened = bool(then and (not self.item or self.item_id in then.items))
        # The cart as it was when the form was opened, or is now if that is not known.
        self.opened = then if then and self.knows_opened else self.current
        return bool(self.item or "item_id" not in self.kwargs)

    def require_open(self) -> None:
        if not self.takes_closed:
            self.cart.state.check_open()

    def clashes(self) -> bool:
        """Return whether what the page is about has changed since its form was opened."""
        return not self.knows_opened or self.subject(self.opened) != self.subject(self.current)

    def events_since(self, version: int) -> list[Event]:
        pairs = pairwise(one for one in self.snapshots.values() if one.version >= version)
        changes = [old.next for new, old in pairs if self.subject(old) != self.subject(new)]
        return [Event.of(change, self.cart.currency) for change in changes if change]

    def leave_removed(self) -> HttpResponse:
        saved = " Nothing was saved." if self.request.method == "POST" else ""
        removed = self.removed if self.cart else "This cart was deleted meanwhile."
        return self.leave(messages.error, f"{removed}{saved}", cart_url(self.cart_id))

    def nothing_changed(self) -> HttpResponse:
        return self.leave(messages.info, "Nothing was changed: it is like that already.")

    def leave(self, tell: Callable[..., None], text: str, url: str = "") -> HttpResponse:
        tell(self.request, text)
        return HttpResponseRedirect(url or cart_url(self.cart_id, self.item_id))

    def render(self, *, clash: bool = False, error: str = "") -> HttpResponse:
        """Return the page with status 200, or 409 if the change was not saved."""
        context = {
            "cart": self.cart,
            "cart_url": cart_url(self.cart_id, self.item_id),
            "item": self.item,
            "editor": self.editor,
            "why": self.why,
            "is_closed": not self.takes_closed and self.cart.status != OPEN,
            # What happened since stays unseen, until the page shows it as a clash.
            "version": self.cart.version if clash else self.opened_version,
            # The same again, because what was refused may have been saved after all.
            "key": (error != SAVED and self.key) or uuid7(),
            "clash": clash,
            "missed": self.events_since(self.opened_version) if clash else [],
            "error": error,
            **self.context(),
        }
        status = 409 if clash or error else 200
        return desk_page(self.request, self.template, context, status=status)

    def write(
        self,
        message: str,
        change: Callable[..., Changed | None],
        *values: object,
        flag: int = CHANGE,
        why: str | None = None,
        logged: str = "",
        url: str = "",
    ) -> HttpResponse:
        """Change the cart and log it, in one transaction, once. Leave the page, and say so.

        `change` is a method of the manager that takes the cart's id, these `values` and its
        `version`. `logged` replaces the message in the log.
        """
        customer, given = self.cart.profile_key, self.why.cleaned_data["why"]
        carts = Cart.objects.by(author_of(self.request, why or given), profile_key=customer)
        own = {"csrfmiddlewaretoken", "key", "version"}
        sent = [pair for pair in self.request.POST.lists() if pair[0] not in own]
        form = [self.request.get_full_path(), *sent]
        with transaction.atomic():
            # Once for the form's key, as for callers' keys. No partner's key is as long as "staff".
            if (
                self.key
                and not IdempotencyRecord.of_request(customer, "staff", str(self.key), form).is_new
            ):
                again = "This form was saved before. It was not saved again."
                return self.leave(messages.info, again)
            changed = change(carts, self.cart_id, *values, version=self.cart.version)
            version = changed.version if changed else None
            given = None if flag == ADDITION else given
            log_change(self.request, self.cart, flag, logged or message, given, version)
        text, currency = f"{message}.", self.cart.currency
        if changed and changed.subtotal != self.cart.subtotal:
            text += f" The subtotal is now {format_amount(changed.subtotal, currency)} {currency}."
        return self.leave(messages.success, text, url)


class EditView(ChangeView):
    form: type[RecordForm]
    values: dict[str, Any]  # what was typed, and of what nobody touched what is

    def fields(self, snapshot: Snapshot) -> Mapping[str, object]:
        raise NotImplementedError

    def subject(self, snapshot: Snapshot) -> object:
        return self.fields(snapshot)

    @cached_property
    def editor(self) -> Any:
        initial = self.fields(self.opened)
        return self.form(self.request.POST or None, initial=initial, currency=self.cart.currency)

    def write_values(
        self, name: str, change: Callable[..., Changed], *values: object
    ) -> HttpResponse:
        """Write what was typed, if anything differs from what is. `name` says of what."""
        now = self.fields(self.current)
        changes = difference_text(now, {**now, **self.values}, self.cart.currency)
        if not changes:
            return self.nothing_changed()
        return self.write(f"{name}: {changes}", change, *values)

    def clashes(self) -> bool:
        """Return whether somebody else has changed a field that was typed in, and mark it."""
        was, now = self.fields(self.opened), self.fields(self.current)
        self.values = self.editor.values()
        both = []
        for name, typed in self.values.items():
            if typed == was[name]:
                self.values[name] = now[name]
            elif now[name] != typed and (now[name] != was[name] or not self.knows_opened):
                both.append(name)
        if not both:
            return False
        self.editor = self.form(initial={**now, **self.values}, currency=self.cart.currency)
        # The focus would scroll away from what the page says.
        del self.editor.fields[self.editor.first].widget.attrs["autofocus"]
        for name in both:
            change = difference_text({name: was[name]}, {name: now[name]}, self.cart.currency)
            marked = self.editor.options if name == "options" else self.editor.fields[name]
            marked.help_text = f"Somebody else: {change or 'changed this'}"
        return True
