"""The pages that change a cart, one item at a time, through the model layer's writes.

A form carries the version of the cart with which it was opened. If the cart has changed
since, nothing is saved. The page then shows the changes, keeps what was typed, and asks again.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, cast
from uuid import UUID

from django.contrib import messages
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import OperationalError, transaction
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.views.generic import View

from carts.admin.display import cart_url, in_words, order_line, read
from carts.admin.forms import ItemEditor
from carts.admin.timeline import events_since
from carts.models import Cart
from carts.models.change import NAME_LENGTH, Author
from carts.models.manager import CartManager
from cartsvc.errors import Refusal

# A COMMIT that is not answered may have happened. Then the cart's version tells, the next time.
BUSY = (
    "This cart could not be changed just now: somebody else is changing it, or the database is "
    "slow. Please save again. If it was saved after all, this page will say so."
)


class CartChange(View):
    """The base of the pages that change, add and remove an item.

    `desk` is the `CartAdmin`; `template` names the page. `item` is None when one is added.
    """

    desk: Any = None
    template = ""
    item: Any

    def dispatch(
        self, request: HttpRequest, cart_id: UUID, item_id: UUID | None = None
    ) -> HttpResponse:
        if not self.desk.has_change_permission(request):
            raise PermissionDenied
        self.cart_id, self.item_id = cart_id, item_id
        if not self.read():
            return self.gone()
        return cast("HttpResponse", super().dispatch(request))

    def read(self) -> bool:
        """Read the current cart. Return False if the cart or its item does not exist."""
        found = read(self.cart_id)
        if found is None:
            return False
        self.cart, items = found
        self.item = next((item for item in items if item["item_id"] == self.item_id), None)
        return self.item is not None or self.item_id is None

    def gone(self) -> HttpResponse:
        """Redirect to the cart, or to the list if it is gone as well, and say so.

        Raises:
            Http404: the cart of a page that is only opened does not exist.
        """
        if Cart.objects.filter(pk=self.cart_id).exists():
            reason, url = "Somebody has removed this item meanwhile.", cart_url(self.cart_id)
        elif self.request.method == "POST":
            reason, url = "This cart was deleted meanwhile.", reverse("admin:carts_cart_changelist")
        else:
            raise Http404
        messages.error(self.request, f"{reason} Nothing was saved.")
        return HttpResponseRedirect(url)

    def page(self, *, since: int | None = None, problem: str = "", **context: Any) -> HttpResponse:
        """Return the page with status 200, or 409 if the change was not saved.

        `since` is the outdated version with which the form was opened: the page shows what
        has happened to the cart since then. `problem` is a reason in words.
        """
        missed = [] if since is None else events_since(self.cart, since)
        user = ("staff", self.request.user.get_username()[:NAME_LENGTH])
        return self.desk.page(
            self.request,
            self.template,
            cart=self.cart,
            cart_url=cart_url(self.cart_id, self.item_id),
            item=self.item and order_line(self.item, self.cart.currency),
            missed=missed,
            # Events of others may be among those whose records are no longer kept.
            own=len(missed) == self.cart.version - (since or 0)
            and all((e.author.kind, e.author.name) == user for e in missed),
            problem=problem,
            status=409 if since is not None or problem else 200,
            **context,
        )

    def opened_with(self) -> int:
        """Return the version of the cart that the form carries, or 0 if it carries none."""
        version = self.request.POST.get("version", "")
        return int(version) if version.isdecimal() and len(version) < 10 else 0

    def write(
        self,
        change: Callable[[CartManager[Cart]], Any],
        message: str,
        form: Callable[..., HttpResponse],
        item_id: UUID | None = None,
    ) -> HttpResponse:
        """Change the cart and log the change, in one transaction.

        `change` makes the change with the manager that it is given. `message` says in words what
        it changes. `form` returns the form again, with the reason, if the change is refused.
        If it is not, the cart's page opens, at the item of `item_id`.
        """
        version = self.cart.version
        author = Author(
            "staff", self.request.user.get_username(), self.request.META["cartsvc.request_id"]
        )
        try:
            with transaction.atomic():
                change(Cart.objects.by(author))
                self.desk.log_change(self.request, self.cart, message)
        except ValidationError as error:
            return form(problem=" ".join(error.messages))
        except OperationalError:
            return form(problem=BUSY)
        except Refusal as refused:
            if not self.read():
                return self.gone()
            if self.cart.version != version:
                return form(since=version)
            return form(problem=str(refused))
        messages.success(self.request, f"{message}.")
        return HttpResponseRedirect(cart_url(self.cart_id, item_id))


class ItemView(CartChange):
    """The page that corrects an item or adds one."""

    template = "item"

    def get(self, request: HttpRequest) -> HttpResponse:
        return self.form(ItemEditor(self.cart.currency, self.item))

    def form(self, editor: ItemEditor, **context: Any) -> HttpResponse:
        """Return the page with the forms of the item. `context` is that of `page`."""
        title = f"Correct {self.item['display_name']}" if self.item else "Add an item"
        return self.page(title=title, editor=editor, **context)

    def post(self, request: HttpRequest) -> HttpResponse:
        editor = ItemEditor(self.cart.currency, self.item, request.POST)
        version = self.opened_with()
        if version != self.cart.version:
            return self.form(editor, since=version)
        if not editor.is_valid():
            return self.form(editor)
        changes = editor.changes()
        if not changes:
            messages.info(request, "Nothing was changed.")
            return HttpResponseRedirect(cart_url(self.cart_id, self.item_id))
        values = editor.values()
        if self.item:
            message = f"Item {in_words(self.item['display_name'])}: {', '.join(changes)}"
        else:
            message = f"Item {in_words(values['display_name'])} added: {', '.join(changes)}"

        def change(carts: CartManager[Cart]) -> None:
            if self.item_id:
                carts.replace_item(self.cart_id, self.item_id, values, version=version)
            else:
                carts.add_item(self.cart_id, values, version=version)

        return self.write(change, message, partial(self.form, editor), self.item_id)


class RemoveItemView(CartChange):
    """The page that removes an item after a confirmation."""

    template = "remove"

    def get(self, request: HttpRequest) -> HttpResponse:
        return self.confirmation()

    def confirmation(self, **context: Any) -> HttpResponse:
        """Return the page that asks whether to remove the item."""
        return self.page(title=f"Remove {self.item['display_name']}?", **context)

    def post(self, request: HttpRequest) -> HttpResponse:
        version = self.opened_with()
        if version != self.cart.version:
            return self.confirmation(since=version)
        return self.write(
            lambda carts: carts.remove_item(self.cart_id, self.item["item_id"], version=version),
            f"Item {in_words(self.item['display_name'])} removed",
            self.confirmation,
        )
