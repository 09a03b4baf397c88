"""The carts: how they are read, and every change that can be made to them."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from copy import copy
from datetime import datetime
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, Any, Never, Self
from uuid import UUID

from django.conf import settings
from django.db import models
from django.db.models import Count, F, Max, QuerySet
from django.utils import timezone

from carts.models import contents, history
from carts.models.history import Author, Record
from carts.models.item import (
    INSERT_ITEMS,
    INSERT_OPTIONS,
    CartItem,
    CartItemOption,
    ItemDraft,
    Values,
    remove_options,
)
from carts.problems import CART_NOT_FOUND, ITEM_NOT_FOUND, TOO_MANY, VERSION_MISMATCH
from cartsvc.api.problems import Refused
from cartsvc.db.statements import (
    Insert,
    Parameter,
    Select,
    Statement,
    atomic,
    one_round_trip,
    parameters,
)

if TYPE_CHECKING:
    from carts.models.cart import Cart


class CartQuerySet(models.QuerySet["Cart"]):
    """Carts to look at; what changes them is the manager's."""

    def with_contents(self) -> Self:
        """Read the items and their options along, in the same statement, but no history."""
        return self._with_items(contents.ITEM_COLUMNS, contents.OPTION_COLUMNS)

    def with_amounts(self) -> Self:
        """Read along only what the number of items and the subtotal take."""
        return self._with_items(contents.ITEM_AMOUNTS, contents.OPTION_AMOUNTS)

    def _with_items(self, item_columns: Sequence[str], option_columns: Sequence[str]) -> Self:
        return self.defer("history").annotate(
            item_rows=contents.items_of(CartItem, CartItemOption, item_columns, option_columns)
        )


Reads = models.Manager.from_queryset(CartQuerySet)


class CartManager(Reads["Cart"]):
    """All carts, or those that somebody may see: the reads and the writes."""

    author: Author | None = None
    keys: Mapping[str, Any] = {}
    moment: datetime | None = None

    def by(self, author: Author, **keys: Any) -> Self:
        """Return those of these carts that have the `keys`, to be changed as `author`.

        `author` is who the carts' history says it was; `keys` are values of model fields.
        """
        carts = copy(self)
        # What has been narrowed once stays so.
        carts.author, carts.keys = author, {**keys, **self.keys}
        return carts

    def at(self, moment: datetime) -> Self:
        """Return these carts, to be changed as if it were that moment. For demonstrations."""
        carts = copy(self)
        carts.moment = moment
        return carts

    def get_queryset(self) -> CartQuerySet:
        return CartQuerySet(self.model, using=self._db).filter(**self.keys)

    def find(self, cart_id: UUID) -> "Cart | None":
        """Return the cart with its contents; see `CartQuerySet.with_contents`."""
        keys = {**self.keys, "id": cart_id}
        found = _get_cart(self.model, tuple(keys)).fetch(**keys)
        return found[0] if found else None

    def page(self, limit: int, cursor: UUID | None = None) -> list["Cart"]:
        """Return up to `limit` carts, newest first; with a `cursor` those older than that id.

        With their amounts; see `CartQuerySet.with_amounts`.
        """
        return _page_of_carts(self.model, tuple(self.keys), limit, further=bool(cursor)).fetch(
            cursor=cursor, **self.keys
        )

    def _record(self, operation: str, item_id: UUID | None = None, label: str = "") -> Record:
        at, author = self.moment or timezone.now(), self.author or Author.shell()
        return Record(at, author, operation, item_id, label)

    def create_with_items(
        self, *, items: Iterable[Values] = (), validate: bool = True, **values: Any
    ) -> "Cart":
        """Create a cart with its items and their options (specification: Create Cart).

        `values` and the mappings in `items` (and in their `options`) have the names of
        the model fields. `validate=False` is for values that a serializer has checked.

        Raises:
            ValidationError: values that the specification does not allow.
            Refused: `currency_mismatch`.
        """
        record = self._record("Create Cart")
        cart = self.model(
            created_on=record.at, modified_on=record.at, history=record.line(), **values
        )
        drafts = [
            ItemDraft.of(cart_id=cart.id, position=position, **item)
            for position, item in enumerate(items)
        ]
        if validate:
            cart.clean_with(drafts)
        mismatches = [
            problem
            for position, draft in enumerate(drafts)
            for problem in draft.currency_problems(cart.currency, f"items[{position}].")
        ]
        if mismatches:
            raise Refused(*mismatches)
        # A single statement would take longer so.
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
    ) -> CartItem:
        """Add an item behind the cart's last one.

        Raises:
            ValidationError: values that the specification does not allow.
            Refused: `cart_not_found`, `version_mismatch`, `currency_mismatch`, `too_many`.
        """
        draft = ItemDraft.of(cart_id=cart_id, **values)
        if validate:
            draft.clean()
        item = draft.item
        with atomic():
            self.claim(cart_id, "Add Item", version=version, draft=draft)
            last = CartItem.objects.filter(cart_id=cart_id).aggregate(
                count=Count("pk"), position=Max("position", default=-1)
            )
            if last["count"] >= settings.MAX_ITEMS:
                TOO_MANY.refuse(f"The cart holds {settings.MAX_ITEMS} items already.", field="")
            item.position = last["position"] + 1
            with one_round_trip():
                _insert([draft])
        item._state.adding = False
        return item

    def replace_item(
        self,
        cart_id: UUID,
        item_id: UUID,
        values: Values,
        *,
        version: int | None = None,
        validate: bool = True,
    ) -> None:
        """Replace an item entirely, options included (specification: Update Item).

        What `values` does not name is not kept; the item's id and position are.

        Raises:
            ValidationError: values that the specification does not allow.
            Refused: `cart_not_found`, `item_not_found`, `version_mismatch`,
                `currency_mismatch`.
        """
        draft = ItemDraft.of(id=item_id, cart_id=cart_id, **values)
        if validate:
            draft.clean()
        with atomic():
            self.claim(cart_id, "Update Item", version=version, item_id=item_id, draft=draft)
            draft.item.overwrite()
            with one_round_trip():
                remove_options().run(item_id=item_id)
                INSERT_OPTIONS.run(draft.option_rows())

    def remove_item(
        self, cart_id: UUID, item_id: UUID, *, version: int | None = None
    ) -> tuple[int, dict[str, int]]:
        """Remove an item and its options; return what Django's `delete` returns.

        Raises:
            Refused: `cart_not_found`, `item_not_found`, `version_mismatch`.
        """
        with atomic():
            item = CartItem.objects.filter(pk=item_id, cart_id=cart_id).first()
            self.claim(
                cart_id,
                "Remove Item",
                version=version,
                item_id=item_id,
                label=str(item or ""),
            )
            removed = CartItem.objects.filter(pk=item_id, cart_id=cart_id).delete()
            if not removed[0]:
                ITEM_NOT_FOUND.refuse()
        return removed

    def claim(
        self,
        cart_id: UUID,
        operation: str,
        *,
        version: int | None = None,
        item_id: UUID | None = None,
        draft: ItemDraft | None = None,
        label: str = "",
    ) -> None:
        """Lock the cart, check it, raise its version and record why: how a change begins.

        One guarded UPDATE; only when it changes no row does a second query find out why.
        `version` is the one that the caller expects, `item_id` the item that is about to
        change, and `draft` what it is about to become.

        Raises:
            Refused: `cart_not_found`, `item_not_found`, `version_mismatch`,
                `currency_mismatch`.
        """
        expected = {**self.keys, "id": cart_id}
        if version is not None:
            expected["version"] = version
        if draft is not None:
            # One of two currencies is not the cart's.
            if draft.has_two_currencies():
                self._refuse_claim(cart_id, version, item_id, draft)
            expected["currency"] = draft.item.currency
            label = draft.label()
        record = self._record(operation, draft.item.id if draft else item_id, label)
        claim = _claim(self.model, tuple(expected))
        if not claim.run(**expected, modified_on=record.at, line=record.line()):
            self._refuse_claim(cart_id, version, item_id, draft)

    def _refuse_claim(
        self, cart_id: UUID, version: int | None, item_id: UUID | None, draft: ItemDraft | None
    ) -> Never:
        cart = self.filter(pk=cart_id).only("version", "currency").first()
        if cart is None:
            CART_NOT_FOUND.refuse()
        if item_id and not CartItem.objects.filter(pk=item_id, cart_id=cart_id).exists():
            ITEM_NOT_FOUND.refuse()
        mismatches = draft.currency_problems(cart.currency) if draft else []
        if not mismatches or version not in (None, cart.version):
            VERSION_MISMATCH.refuse(version=cart.version, field="version")
        raise Refused(*mismatches)


def _insert(drafts: Sequence[ItemDraft]) -> None:
    INSERT_ITEMS.run(draft.item for draft in drafts)
    INSERT_OPTIONS.run(chain.from_iterable(map(ItemDraft.option_rows, drafts)))


@cache
def _insert_cart(carts: type["Cart"]) -> Insert:
    return Insert(carts, [field.attname for field in carts._meta.concrete_fields])


@cache
def _claim(carts: type["Cart"], expected: tuple[str, ...]) -> Statement:
    return Statement.update(
        QuerySet(carts).filter(**parameters(carts, expected)),
        {
            "version": F("version") + 1,
            "history": history.appended(Parameter("line", models.TextField())),
            **parameters(carts, ["modified_on"]),
        },
    )


@cache
def _get_cart(carts: type["Cart"], keys: tuple[str, ...]) -> Select:
    return Select(CartQuerySet(carts).with_contents().filter(**parameters(carts, keys)))


@cache
def _page_of_carts(
    carts: type["Cart"], keys: tuple[str, ...], limit: int, *, further: bool
) -> Select:
    page = CartQuerySet(carts).with_amounts().filter(**parameters(carts, keys)).order_by("-id")
    if further:
        page = page.filter(id__lt=Parameter("cursor", models.UUIDField()))
    return Select(page[:limit])
