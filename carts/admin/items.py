"""The pages that change an item of a cart, through the model layer's writes.

A form carries the version of the cart with which it was opened. If the cart has changed
since, nothing is saved. The page then shows the changes, keeps what was typed, and asks again.
"""

from typing import Any, cast
from uuid import UUID

from django.contrib import messages
from django.contrib.admin.models import CHANGE, LogEntry
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import IntegrityError, OperationalError, transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.functional import cached_property
from django.views.generic import View
from uuid_utils.compat import uuid7

from carts.admin.formatting import cart_url, in_words, parse_version
from carts.admin.forms import ItemForm, WhyForm
from carts.admin.history import change_of, events_since, whole_in_one_line
from carts.models import Cart
from carts.models.change import NAME_LENGTH, WHY_LENGTH, Author, items_before
from carts.models.manager import CartManager
from carts.models.reads import items_of
from carts.values import Item, PlacedItem
from cartsvc.api.guids import parse_guid
from cartsvc.request_errors import ApiError

# A COMMIT that is not answered may have happened. Then the cart's version tells, the next time.
BUSY = (
    "This cart could not be changed just now: somebody else is changing it, or the database is "
    "slow. Please save again. If it was saved after all, this page will say so."
)

Carts = CartManager[Cart]


class ChangeView(View):
    """The base of the pages that change a cart.

    `desk` is the `CartAdmin`; `template` names the page; `may` is the right that it needs; `flag`
    is that of the entry in the log of staff. `placed` is None if the page is about no item of the
    cart. `removed` is what to say if the cart exists, but not what the page is about. `editor` is
    the form of what is changed, with what was sent. A page that only asks has none.
    """

    desk: Any = None
    template = ""
    may = "has_change_permission"
    flag = CHANGE
    removed = "Somebody has removed this item meanwhile."
    placed: PlacedItem | None = None
    editor: Any = None

    def context(self) -> dict[str, Any]:
        """Return the title of the page, and what only its template needs."""
        raise NotImplementedError

    def message(self) -> str:
        """Return in words what the change makes different, or "" if nothing would be."""
        raise NotImplementedError

    def change(self, carts: Carts, version: int) -> Any:
        """Make the change with this manager, to the cart of this version."""
        raise NotImplementedError

    def reason(self) -> str | None:
        """Return why the change is made, as its record says."""
        return self.why.cleaned_data["why"]

    def after(self) -> str:
        """Return the address of the page that opens after the change."""
        return cart_url(self.cart_id, self.item_id)

    def dispatch(
        self, request: HttpRequest, cart_id: UUID, item_id: UUID | None = None, **_: Any
    ) -> Any:
        if not getattr(self.desk, self.may)(request):
            raise PermissionDenied
        self.cart_id, self.item_id = cart_id, item_id
        self.why = WhyForm(request.POST or None)
        return super().dispatch(request) if self.load() else self.gone()

    def get(self, request: HttpRequest) -> HttpResponse:
        return self.page()

    def post(self, request: HttpRequest) -> HttpResponse:
        version = parse_version(request.POST.get("version", "")) or 0
        if version != self.cart.version:
            return self.page(since=version)
        if not all([self.why.is_valid(), not self.editor or self.editor.is_valid()]):
            return self.page()
        message = self.message()
        return self.write(message) if message else self.nothing_changed()

    def load(self) -> bool:
        """Read the current cart. Return False if the cart or its item does not exist."""
        cart = Cart.objects.with_items().filter(pk=self.cart_id).first()
        if not cart:
            return False
        self.cart, self.items = cart, items_of(cart.items_json)
        self.placed = self.items.get(self.item_id) if self.item_id else None
        return bool(self.placed or not self.item_id)

    def gone(self) -> HttpResponse:
        """Redirect to the cart, or to the list if it is gone as well, and say so."""
        if Cart.objects.filter(pk=self.cart_id).exists():
            reason, url = self.removed, cart_url(self.cart_id)
        else:
            reason, url = "This cart was deleted meanwhile.", reverse("admin:carts_cart_changelist")
        messages.error(self.request, f"{reason} Nothing was saved.")
        return HttpResponseRedirect(url)

    def page(self, *, since: int | None = None, error: str = "") -> HttpResponse:
        """Return the page with status 200, or 409 if the change was not saved.

        `since` is the outdated version with which the form was opened: the page shows what
        has happened to the cart since then. `error` says why not, in words.
        """
        missed = [] if since is None else events_since(self.cart, since)
        user = "staff", self.request.user.get_username()[:NAME_LENGTH]
        authors = [(change.author_kind, change.author_name) for change, _ in missed]
        return self.desk.page(
            self.request,
            self.template,
            cart=self.cart,
            cart_url=cart_url(self.cart_id, self.item_id),
            item=self.placed and self.placed.item,
            value=self.placed and self.placed.value,
            editor=self.editor,
            why=self.why,
            missed=missed,
            # Events of others may be among those whose records are no longer kept.
            own=authors == [user] * (self.cart.version - (since or 0)),
            error=error,
            status=409 if since is not None or error else 200,
            **self.context(),
        )

    def write(self, message: str) -> HttpResponse:
        """Change the cart and log it, in one transaction. If refused, show why, and the form."""
        version, user = self.cart.version, cast("Any", self.request.user)
        request_id = self.request.META["cartsvc.request_id"]
        author = Author("staff", user.get_username(), request_id, self.reason())
        try:
            with transaction.atomic():
                carts = Cart.objects.by(author, profile_key=self.cart.profile_key)
                self.change(carts, version)
                LogEntry.objects.log_actions(
                    user.pk, [self.cart], self.flag, message, single_object=True
                )
        except ValidationError as error:
            return self.page(error=" ".join(error.messages))
        except OperationalError:
            return self.page(error=BUSY)
        except ApiError as refused:
            if not self.load():
                return self.gone()
            if self.cart.version != version:
                return self.page(since=version)
            return self.page(error=str(refused))
        messages.success(self.request, f"{message}.")
        return HttpResponseRedirect(self.after())

    def nothing_changed(self) -> HttpResponse:
        """Leave the page, and say why nothing was saved."""
        messages.info(self.request, "Nothing was changed: it is like that already.")
        return HttpResponseRedirect(self.after())


class ItemView(ChangeView):
    """The page that corrects an item or adds one, perhaps `like` another of the cart."""

    template = "item"

    @property
    def like(self) -> Item | None:
        wanted = parse_guid(self.request.GET.get("like", ""))
        return self.items[wanted].item if wanted in self.items else None

    @cached_property
    def editor(self) -> ItemForm:
        item = self.placed.item if self.placed else self.like
        return ItemForm(self.cart.currency, item, self.request.POST or None)

    def context(self) -> dict[str, Any]:
        if self.placed:
            return {"title": f"Correct {self.placed.item.display_name}"}
        return {"title": f"Add {self.like.display_name} again" if self.like else "Add an item"}

    def message(self) -> str:
        item = self.editor.item()
        if not self.placed:
            return f"Item added: {whole_in_one_line(item, self.cart.currency)}"
        before = self.placed.item
        changes = change_of(before._asdict(), item._asdict(), self.cart.currency)
        return changes and f"Item {in_words(before.display_name)}: {changes}"

    def change(self, carts: Carts, version: int) -> None:
        item = self.editor.item()
        if self.item_id:
            carts.replace_item(self.cart_id, self.item_id, item, version=version)
        else:
            carts.add_item(self.cart_id, uuid7(), item, version=version)


class RemoveItemView(ChangeView):
    """The page that removes an item after a confirmation."""

    template = "remove"
    placed: PlacedItem

    def context(self) -> dict[str, Any]:
        return {"title": f"Remove {self.placed.item.display_name}?"}

    def message(self) -> str:
        return f"Item {in_words(self.placed.item.display_name)} removed"

    def change(self, carts: Carts, version: int) -> None:
        carts.remove_item(self.cart_id, self.placed.id, version=version)

    def after(self) -> str:
        return cart_url(self.cart_id)


class PutBackView(ChangeView):
    """The page that makes an item what it was before a change, after a confirmation."""

    template = "put_back"
    removed = "There is nothing to put back. Perhaps the change is too old to be kept."
    back: PlacedItem  # what it was

    def load(self) -> bool:
        """Read the cart, the item, and what it was. Return False if that is not known."""
        if not super().load():
            return False
        version = self.kwargs["version"]
        changes = list(self.cart.changes.filter(version__gte=version).reverse())
        if not changes or changes[-1].version != version:
            return False
        item_id = cast("UUID", changes[-1].item_id)
        back = items_before(self.items, changes).get(item_id)
        if not back:
            return False
        self.placed, self.back = self.items.get(item_id), back
        return True

    def get(self, request: HttpRequest) -> HttpResponse:
        return self.page() if self.message() else self.nothing_changed()

    def context(self) -> dict[str, Any]:
        item = self.back.item
        return {"title": f"Put {item.display_name} back?", "back": item, "back_value": item.value}

    def message(self) -> str:
        if self.placed and self.placed.item == self.back.item:
            return ""
        name = in_words(self.back.item.display_name)
        return f"Item {name} put back as it was before version {self.kwargs['version']}"

    def reason(self) -> str:
        """Return that this is a put-back, which its operation does not say, and why."""
        back, why = f"Put back as before version {self.kwargs['version']}", super().reason()
        return f"{back}: {why}"[:WHY_LENGTH] if why else back

    def change(self, carts: Carts, version: int) -> None:
        # What was allowed then may be refused now.
        item = Item(**self.back.item._asdict())
        if self.placed:
            carts.replace_item(self.cart_id, self.back.id, item, version=version)
            return
        try:
            carts.add_item(self.cart_id, self.back.id, item, version=version)
        except IntegrityError as error:
            raise ValidationError("There is an item with this id already.") from error

    def after(self) -> str:
        return cart_url(self.cart_id, self.back.id)
