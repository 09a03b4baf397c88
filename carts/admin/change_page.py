"""The base of the pages that change a cart, through the model layer's writes.

A form carries the version of the cart with which it was opened, from which the history tells what
the form has shown. A field that nobody touched keeps the value that the cart has now. If somebody
else has changed meanwhile what the form changes, nothing is saved. The page then shows both, keeps
what was typed, and asks again.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple
from uuid import UUID

from django.contrib import messages
from django.contrib.admin.models import ADDITION, CHANGE
from django.core.exceptions import PermissionDenied
from django.db import OperationalError, transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
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
from carts.models.writes import Outcome
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

UNCHANGED = "Nothing was changed: it is like that already."

# How often a change is tried if others change the same cart at that moment.
TRIES = 3

# The fields of a form that are not about the cart.
NOT_TYPED = {"csrfmiddlewaretoken", "key", "version"}

# The label of a reason that must be given.
WHY = "Why (for staff only)"


@dataclass(eq=False)
class Leave(Exception):
    """There is nothing to change, as the text says: the cart's page follows, at the item."""

    text: str
    tell: Callable[..., None] = messages.error
    item_id: UUID | None = None


class FormState(NamedTuple):
    """A form as it was sent, and the cart as it is and as it was when the form was opened.

    If it is not known how the form was opened, `opened` is the cart as it is.
    """

    cart: Any
    item_id: UUID | None
    item: Any
    current: Snapshot
    opened: Snapshot
    knows_opened: bool
    snapshots: Mapping[int, Snapshot]
    version: int  # with which the form was opened
    key: UUID | None
    why: WhyForm
    editor: Any = None  # the form of what is changed; a page that only asks has none

    @property
    def url(self) -> str:
        return cart_url(self.cart.pk, self.item_id)


class Decision(NamedTuple):
    """What a form changes: a method of the manager, if any, and its arguments after the cart's id.

    `logged` replaces the message in the log of staff, and `why` what was given in the history.
    """

    message: str
    method: Callable[..., Outcome | None] | None = None
    arguments: tuple[object, ...] = ()
    flag: int = CHANGE
    logged: str = ""
    why: str = ""
    url: str = ""


class ChangeView(View):
    """`asks` is the label of the reason, if it must be given. `takes_closed` tells whether a
    closed cart has this page.
    """

    template = ""
    title = ""
    permission = "carts.change_cart"
    asks = ""
    takes_closed = False

    def context(self, state: FormState) -> dict[str, object]:
        """Return what only the page's template needs, and a title that names what it is about."""
        return {}

    def subject(self, state: FormState, snapshot: Snapshot) -> Any:
        """Return what the page is about, as it was then: an item, or the whole cart."""
        return snapshot.items.get(state.item_id) if state.item_id else snapshot.version

    def decide(self, state: FormState) -> Decision | None:
        """Return what to change of the cart as it was read, or None if it is like that already."""
        raise NotImplementedError

    def dispatch(self, request: HttpRequest, *_: object, **__: object) -> HttpResponseBase:
        if not request.user.has_perm(self.permission):
            raise PermissionDenied
        try:
            return super().dispatch(request)
        except Leave as left:
            saved = " Nothing was saved." if request.method == "POST" else ""
            left.tell(request, f"{left.text}{saved}")
            return HttpResponseRedirect(cart_url(self.kwargs["cart_id"], left.item_id))

    def get(self, request: HttpRequest) -> HttpResponse:
        state = self.read()
        try:
            self.require_open(state)
        except CartClosed as closed:
            raise Leave(format_error(closed)) from closed
        return self.render(state)

    def post(self, request: HttpRequest) -> HttpResponse:
        for _ in range(TRIES):
            state = self.read()
            if not all([state.why.is_valid(), not state.editor or state.editor.is_valid()]):
                return self.render(state)
            try:
                self.require_open(state)
                clash = self.clash(state)
                return self.render(clash, clash=True) if clash else self.save(state)
            except VersionMismatch:
                pass  # changed since it was read: decide anew
            except OperationalError:
                return self.render(state, error=BUSY)
            except IdempotencyKeyReused:
                return self.render(self.read(), error=SAVED)
            except ApiError as error:
                return self.render(self.read(), error=f"{format_error(error)} Nothing was saved.")
        return self.render(self.read(), error=BUSY)

    def read(self) -> FormState:
        """Read the form and the current cart. Raise Leave if what it is about is not there."""
        cart: Any = Cart.objects.with_items().filter(pk=self.kwargs["cart_id"]).first()
        if not cart:
            raise Leave("This cart was deleted meanwhile.")
        sent, version = self.request.POST, cart.version
        if self.request.method == "POST":
            version = parse_version(sent.get("version", "")) or 0
        # What a put-back undoes may be older than its form.
        oldest = min(version, self.kwargs.get("version", version + 1) - 1)
        snapshots = snapshots_since(cart, items_of(cart.items_json), oldest)
        current, then = snapshots[cart.version], snapshots.get(version)
        item_id: Any = self.kwargs.get("item_id")
        item = current.items.get(item_id)
        if item_id and not item:
            raise Leave("This item was removed meanwhile.")
        # No form of an item was opened before the item came.
        opened = then if then and (not item or item_id in then.items) else None
        about = cart, item_id, item, current, opened or current, bool(opened), snapshots
        key, why = parse_guid(sent.get("key", "")), WhyForm(sent or None)
        if self.asks:
            why.fields["why"].required, why.fields["why"].label = True, self.asks
        return FormState(*about, version, key, why)

    def require_open(self, state: FormState) -> None:
        if not self.takes_closed:
            state.cart.state.check_open()

    def clash(self, state: FormState) -> FormState | None:
        """Return the form to ask with again, if what it is about has changed meanwhile."""
        is_same = self.subject(state, state.opened) == self.subject(state, state.current)
        return None if state.knows_opened and is_same else state

    def events_since(self, state: FormState, version: int) -> list[Event]:
        pairs = pairwise(one for one in state.snapshots.values() if one.version >= version)
        changes = [
            old.next for new, old in pairs if self.subject(state, old) != self.subject(state, new)
        ]
        return [Event.of(change, state.cart.currency) for change in changes if change]

    def render(self, state: FormState, *, clash: bool = False, error: str = "") -> HttpResponse:
        """Return the page with status 200, or 409 if the change was not saved."""
        context = {
            **state._asdict(),
            "title": self.title,
            "items": [*state.current.placed.values()],
            "cart_url": state.url,
            "is_closed": not self.takes_closed and state.cart.status != OPEN,
            # What happened since stays unseen, until the page shows it as a clash.
            "version": state.cart.version if clash else state.version,
            # The same again, because what was refused may have been saved after all.
            "key": (error != SAVED and state.key) or uuid7(),
            "clash": clash,
            "missed": self.events_since(state, state.version) if clash else [],
            "error": error,
            **self.context(state),
        }
        status = 409 if clash or error else 200
        return desk_page(self.request, self.template, context, status=status)

    def save(self, state: FormState) -> HttpResponse:
        """Change the cart and log it, in one transaction, once. Leave the page, and say so."""
        request, cart, decision = self.request, state.cart, self.decide(state)
        if not decision:
            messages.info(request, UNCHANGED)
            return HttpResponseRedirect(state.url)
        message, method, values, flag, logged, why, url = decision
        given, customer = state.why.cleaned_data["why"], cart.profile_key
        carts = Cart.objects.by(author_of(request, why or given), profile_key=customer)
        typed = [pair for pair in request.POST.lists() if pair[0] not in NOT_TYPED]
        form = {"form": [request.get_full_path(), *typed]}
        with transaction.atomic():
            # Once for the form's key, as for callers' keys. No partner's key is as long as "staff".
            if (
                state.key
                and not IdempotencyRecord.of_request(customer, "staff", str(state.key), form).is_new
            ):
                messages.info(request, "This form was saved before. It was not saved again.")
                return HttpResponseRedirect(state.url)
            changed = method(carts, cart.pk, *values, version=cart.version) if method else None
            version = changed.version if changed else None if method else cart.version
            given = None if flag == ADDITION else given
            log_change(request, cart, flag, logged or message, given, version)
        text = f"{message}."
        if changed and changed.subtotal != cart.subtotal:
            subtotal = format_amount(changed.subtotal, cart.currency)
            text += f" The subtotal is now {subtotal} {cart.currency}."
        messages.success(request, text)
        return HttpResponseRedirect(url or state.url)


class EditView(ChangeView):
    """The page of a form, whose subject is the values of its fields by their names."""

    form: type[RecordForm]

    def read(self) -> FormState:
        state = super().read()
        sent, initial = self.request.POST or None, self.subject(state, state.opened)
        editor = self.form(sent, initial=initial, currency=state.cart.currency)
        return state._replace(editor=editor)

    def merged_values(self, state: FormState) -> dict[str, Any]:
        """Return what was typed, and of what nobody touched what is."""
        old, new = self.subject(state, state.opened), self.subject(state, state.current)
        typed = state.editor.values()
        return {name: new[name] if typed[name] == old[name] else typed[name] for name in typed}

    def decide_values(
        self, state: FormState, name: str, method: Callable[..., Outcome], *values: object
    ) -> Decision | None:
        """Decide to write these, if what was typed differs from what is. `name` says of what."""
        new = self.subject(state, state.current)
        changes = difference_text(new, {**new, **self.merged_values(state)}, state.cart.currency)
        return Decision(f"{name}: {changes}", method, values) if changes else None

    def clash(self, state: FormState) -> FormState | None:
        """Return the form with a mark at what was typed and somebody else has changed, if any."""
        old, new = self.subject(state, state.opened), self.subject(state, state.current)
        values, currency = self.merged_values(state), state.cart.currency
        both = [
            name
            for name, value in values.items()
            if value != new[name] and (new[name] != old[name] or not state.knows_opened)
        ]
        if not both:
            return None
        editor: Any = self.form(initial={**new, **values}, currency=currency)
        # The focus would scroll away from what the page says.
        del editor.fields[editor.first].widget.attrs["autofocus"]
        for name in both:
            change = difference_text({name: old[name]}, {name: new[name]}, currency)
            marked = editor.options if name == "options" else editor.fields[name]
            marked.help_text = f"Somebody else: {change or 'changed this'}"
        return state._replace(editor=editor)
