"""The manager of carts: how they are read, and every change that can be made to them."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from copy import copy
from datetime import datetime
from functools import cache
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Self
from uuid import UUID

from django.conf import settings
from django.db import models
from django.db.models import F, Max, QuerySet
from django.db.models.functions import Greatest
from django.utils import timezone

from carts.errors import CartNotFound, ItemNotFound, TooMany, VersionMismatch
from carts.models import history, totals
from carts.models.history import Author, Record
from carts.models.item import (
    INSERT_ITEMS,
    INSERT_OPTIONS,
    CartItem,
    ItemDraft,
    Values,
    remove_options,
)
from carts.models.reads import CartQuerySet, CartSummary, Reads, get_cart, page_of_carts
from cartsvc.db.statements import (
    Insert,
    Parameter,
    Statement,
    atomic,
    one_round_trip,
    parameters,
)
from cartsvc.errors import MAX_PROBLEMS, Refusals

if TYPE_CHECKING:
    from carts.models.cart import Cart


IN_ALL = "options in all items of a cart together"


class CartManager(Reads["Cart"]):
    """Reads and writes carts: all of them, or those that `by` has narrowed them to."""

    author: Author | None = None
    keys: Mapping[str, Any] = {}
    moment: datetime | None = None

    def by(self, author: Author, **keys: Any) -> Self:
        """Return a manager of the carts that have the `keys`, for changes by `author`.

        The carts' history names the author. `keys` are values of model fields.
        """
        carts = copy(self)
        # Earlier keys win, so that a second call cannot widen the selection.
        carts.author, carts.keys = author, {**keys, **self.keys}
        return carts

    def at(self, moment: datetime) -> Self:
        """Return a manager whose changes are dated `moment`. For demonstrations."""
        carts = copy(self)
        carts.moment = moment
        return carts

    def get_queryset(self) -> CartQuerySet:
        return CartQuerySet(self.model, using=self._db).filter(**self.keys)

    def find(self, cart_id: UUID) -> "Cart | None":
        """Return the cart with its contents, or None. See `CartQuerySet.with_contents`."""
        keys = {**self.keys, "id": cart_id}
        found = get_cart(self.model, tuple(keys)).fetch(**keys)
        return found[0] if found else None

    def version_of(self, cart_id: UUID) -> int | None:
        """Return the cart's version; None if there is no such cart."""
        return self.filter(pk=cart_id).values_list("version", flat=True).first()

    def page(self, limit: int, cursor: UUID | None = None) -> list[CartSummary]:
        """Return up to `limit` carts, newest first, with their totals.

        With a `cursor`, return carts older than that id. Items and history are not read.
        """
        statement = page_of_carts(self.model, tuple(self.keys), limit, further=bool(cursor))
        page = list(map(CartSummary._make, statement.rows(cursor=cursor, **self.keys)))
        uncounted = [cart.id for cart in page if cart.item_count is None]
        if not uncounted:
            return page
        anew = self.counted_anew(uncounted)
        return [
            cart._replace(item_count=anew[cart.id].item_count, subtotal=anew[cart.id].subtotal)
            if cart.id in anew
            else cart
            for cart in page
        ]

    def _record(self, operation: str, item_id: UUID | None = None, label: str = "") -> Record:
        at, author = self.moment or timezone.now(), self.author or Author.shell()
        return Record(at, author, operation, item_id, label)

    def create_with_items(
        self, *, items: Iterable[Values] = (), validate: bool = True, **values: Any
    ) -> "Cart":
        """Create a cart with its items and their options (specification: Create Cart).

        `values`, the mappings in `items` and those in their `options` use the names of the
        model fields. `validate=False` is for values that a serializer has checked.

        Raises:
            ValidationError: values that the specification does not allow.
            Refusal: `currency_mismatch`, `too_many`.
        """
        record = self._record("Create Cart")
        cart = self.model(
            created_on=record.at, modified_on=record.at, creation=record.line(), **values
        )
        drafts = [
            ItemDraft.of(cart_id=cart.id, position=position, **item)
            for position, item in enumerate(items)
        ]
        if validate:
            cart.clean_with(drafts)
        found = (
            problem
            for position, draft in enumerate(drafts)
            for problem in draft.currency_problems(cart.currency, f"items[{position}].")
        )
        if mismatches := list(islice(found, MAX_PROBLEMS + 1)):
            raise Refusals(mismatches)
        sums = totals.totals_of(drafts)
        cart.set_totals(sums)
        if sums.option_count > settings.MAX_CART_OPTIONS:
            raise TooMany(limit=settings.MAX_CART_OPTIONS, plural=IN_ALL, field="items")
        # A pipeline of one statement would take longer than the statement alone.
        with atomic(), one_round_trip() if drafts else nullcontext():
            _insert_cart(self.model).run([cart])
            _insert(drafts)
        cart._state.adding = False
        return cart

    def add_item(
        self,
        cart_id: UUID,
        values: Values,
        *,
        version: int | None = None,
        validate: bool = True,
    ) -> int:
        """Add an item after the cart's last one; return the cart's version after it.

        Raises:
            ValidationError: values that the specification does not allow.
            Refusal: `cart_not_found`, `version_mismatch`, `currency_mismatch`, `too_many`.
        """
        draft = ItemDraft.of(cart_id=cart_id, **values)
        if validate:
            draft.clean()
        with atomic():
            changed = self.claim(cart_id, "Add Item", version=version, draft=draft)
            last = CartItem.objects.filter(cart_id=cart_id).aggregate(
                position=Max("position", default=-1)
            )
            draft.values["position"] = last["position"] + 1
            with one_round_trip():
                _insert([draft])
        return changed

    def replace_item(
        self,
        cart_id: UUID,
        item_id: UUID,
        values: Values,
        *,
        version: int | None = None,
        validate: bool = True,
    ) -> int:
        """Replace an item entirely, options included (specification: Update Item).

        What `values` does not name is not kept; the item's id and position are. Returns the
        cart's version after it.

        Raises:
            ValidationError: values that the specification does not allow.
            Refusal: `cart_not_found`, `item_not_found`, `version_mismatch`,
                `currency_mismatch`, `too_many`.
        """
        draft = ItemDraft.of(id=item_id, cart_id=cart_id, **values)
        if validate:
            draft.clean()
        with atomic():
            changed = self.claim(
                cart_id, "Update Item", version=version, item_id=item_id, draft=draft
            )
            draft.overwrite()
            with one_round_trip():
                remove_options().run(item_id=item_id)
                INSERT_OPTIONS.run(draft.option_rows())
        return changed

    def remove_item(self, cart_id: UUID, item_id: UUID, *, version: int | None = None) -> int:
        """Remove an item and its options; return the cart's version after it.

        Raises:
            Refusal: `cart_not_found`, `item_not_found`, `version_mismatch`.
        """
        with atomic():
            item = CartItem.objects.filter(pk=item_id, cart_id=cart_id).first()
            changed = self.claim(
                cart_id, "Remove Item", version=version, item_id=item_id, label=str(item or "")
            )
            CartItem.objects.filter(pk=item_id, cart_id=cart_id).delete()
        return changed

    def claim(
        self,
        cart_id: UUID,
        operation: str,
        *,
        version: int | None = None,
        item_id: UUID | None = None,
        draft: ItemDraft | None = None,
        label: str = "",
    ) -> int:
        """Lock the cart, check it, count, raise its version, record why: how a change begins.

        One guarded UPDATE; only when it changes no row does a second query find out why.
        `version` is the one that the caller expects, `item_id` the item that is about to
        change, and `draft` what it is about to become. Returns the version after it.

        Raises:
            Refusal: `cart_not_found`, `item_not_found`, `version_mismatch`,
                `currency_mismatch`, `too_many`.
        """
        expected = {**self.keys, "id": cart_id}
        if version is not None:
            expected["version"] = version
        if draft is not None:
            # At least one of two currencies is not the cart's.
            if draft.has_two_currencies():
                self._refuse_claim(cart_id, version, item_id, draft)
            expected["currency"] = draft.values["currency"]
            label = draft.label()
        record = self._record(operation, draft.values["id"] if draft else item_id, label)
        claim = _claim(self.model, tuple(expected), takes=bool(item_id), adds=bool(draft))
        values = {
            **expected,
            "item_id": item_id,
            "options": len(draft.options) if draft else 0,
            "value": draft.value() if draft else None,
            "most_items": settings.MAX_ITEMS,
            "most_options": settings.MAX_CART_OPTIONS,
            "modified_on": record.at,
            "line": record.line(),
        }
        while (changed := claim.returned(**values)) is None:
            self._refuse_claim(cart_id, version, item_id, draft)
            # Another change was committed while the claim waited for it. Lock the cart, so
            # that it cannot change again before the next attempt.
            self.lock(cart_id)
        return int(changed)

    def _refuse_claim(
        self, cart_id: UUID, version: int | None, item_id: UUID | None, draft: ItemDraft | None
    ) -> None:
        """Raise the reason why a claim changed no row. Return if it no longer applies."""
        cart = self.filter(pk=cart_id).defer("history").first()
        if cart is None:
            raise CartNotFound
        items = CartItem.objects.filter(cart_id=cart_id)
        item = items.filter(pk=item_id).first() if item_id else None
        if item_id and item is None:
            raise ItemNotFound
        if version not in (None, cart.version):
            raise VersionMismatch(version=cart.version, field="version")
        if draft is None:
            return
        if mismatches := draft.currency_problems(cart.currency):
            raise Refusals(mismatches)
        if item is None and (cart.item_count or 0) >= settings.MAX_ITEMS:
            raise TooMany(f"The cart holds {settings.MAX_ITEMS} items already.", field="")
        before = item.options.count() if item else 0
        after = (cart.option_count or 0) - before + len(draft.options)
        if after > settings.MAX_CART_OPTIONS and len(draft.options) > before:
            raise TooMany(limit=settings.MAX_CART_OPTIONS, plural=IN_ALL, field="options")

    def lock(self, cart_id: UUID) -> None:
        """Lock the cart until the transaction ends."""
        self.select_for_update().filter(pk=cart_id).exists()


def _insert(drafts: Sequence[ItemDraft]) -> None:
    INSERT_ITEMS.run(map(ItemDraft.item_row, drafts))
    INSERT_OPTIONS.run(chain.from_iterable(map(ItemDraft.option_rows, drafts)))


@cache
def _insert_cart(model: type["Cart"]) -> Insert:
    return Insert(model, [field.attname for field in model._meta.concrete_fields])


@cache
def _claim(model: type["Cart"], expected: tuple[str, ...], *, takes: bool, adds: bool) -> Statement:
    return Statement.update(
        QuerySet(model).filter(
            totals.allowed(model, takes=takes, adds=adds), **parameters(model, expected)
        ),
        {
            "version": F("version") + 1,
            "history": history.appended(Parameter("line", models.TextField())),
            **totals.changed(takes=takes, adds=adds),
            # The time was taken before the claim waited for another change.
            "modified_on": Greatest(
                F("modified_on"), Parameter("modified_on", models.DateTimeField())
            ),
        },
        returning="version",
    )
