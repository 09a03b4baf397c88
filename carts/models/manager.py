"""The manager of carts: how they are read, and every change that can be made to them.

A change locks the cart's row and reads what it needs to decide, in one exchange with the database.
It decides in Python. It writes the cart, the item and the record of the change in another exchange,
and commits.
"""

from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from copy import copy
from datetime import datetime
from itertools import chain
from typing import Any, Generic, Self, TypeVar
from uuid import UUID

from django.conf import settings
from django.db import models
from django.utils import timezone

from carts.errors import CartNotFound, ItemNotFound, TooMany
from carts.models.cart_state import IN_ALL, CartState, Expected, Totals, refuse_any
from carts.models.change import MAX_CHANGES, Author, difference, encoded, recorded
from carts.models.item import ITEM_FIELDS
from carts.models.item_draft import ItemDraft, Values, field_errors, refuse
from carts.models.reads import CartQuerySet, CartReads
from carts.models.writes import (
    CHANGEABLE,
    DELETE_CHANGE,
    DELETE_CHANGES,
    DELETE_ITEM,
    DELETE_ITEMS,
    DELETE_OPTIONS,
    DELETE_OPTIONS_OF_CART,
    INSERT_CHANGE,
    INSERT_ITEMS,
    INSERT_OPTIONS,
    ITEM,
    LAST_POSITION,
    UPDATE_ITEM,
    CartWrites,
    item_draft,
)
from cartsvc.db.statements import (
    Rows,
    Select,
    atomic,
    fetch_together,
    one_round_trip,
)

CartT = TypeVar("CartT", bound=models.Model)


class CartManager(models.Manager.from_queryset(CartQuerySet), Generic[CartT]):  # type: ignore[misc]
    """Reads and writes carts: all of them, or those that `by` has narrowed them to."""

    author: Author | None = None
    keys: Values = {}
    moment: datetime | None = None

    def contribute_to_class(self, cls: type[models.Model], name: str) -> None:
        """Prepare the statements for the model, which is known from here on."""
        super().contribute_to_class(cls, name)
        self.reads, self.writes = CartReads(cls), CartWrites(cls)

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

    def find(self, cart_id: UUID) -> tuple[int, str] | None:
        """Return the cart's version and the JSON text that Get Cart shows, or None."""
        keys = {**self.keys, "id": cart_id}
        for version, text in self.reads.get_cart(tuple(keys)).rows(**keys):
            return version, text
        return None

    def version_of(self, cart_id: UUID) -> int | None:
        """Return the cart's version; None if there is no such cart."""
        return self.filter(pk=cart_id).values_list("version", flat=True).first()

    def page(self, limit: int, cursor: UUID | None = None) -> Rows:
        """Return the ids and JSON texts of up to `limit` carts, newest first.

        With a `cursor`, carts older than that id.
        """
        statement = self.reads.page_of_carts(tuple(self.keys), limit, further=bool(cursor))
        return statement.rows(cursor=cursor, **self.keys)

    def create_with_items(
        self, *, items: Iterable[Values] | None = None, validate: bool = True, **values: Any
    ) -> CartT:
        """Create a cart with its items and their options (specification: Create Cart).

        `values`, the mappings in `items` and those in their `options` use the names of the
        model fields. `validate=False` is for values that a serializer has checked.

        Raises:
            ValidationError: values that the specification does not allow.
            Refusal: `currency_mismatch`, `too_many`.
        """
        author, moment = self._author(), self.moment or timezone.now()
        cart: Any = self.model(
            created_on=moment,
            modified_on=moment,
            created_by_kind=author.kind,
            created_by_name=author.name,
            created_request_id=author.request_id,
            **values,
        )
        drafts = [ItemDraft.of(item, position) for position, item in enumerate(items or ())]
        if validate:
            errors = field_errors(cart)
            if len(drafts) > settings.MAX_ITEMS:
                errors["items"] = TooMany(limit=settings.MAX_ITEMS, plural="items in a cart")
            for position, draft in enumerate(drafts):
                errors |= draft.errors(f"items[{position}].")
            refuse(errors)
        refuse_any(
            mismatch
            for position, draft in enumerate(drafts)
            for mismatch in draft.currency_mismatches(cart.currency, ("items", position))
        )
        cart.item_count, cart.option_count, cart.subtotal = Totals.of(drafts)
        if cart.option_count > settings.MAX_CART_OPTIONS:
            raise TooMany(limit=settings.MAX_CART_OPTIONS, plural=IN_ALL, field=("items",))
        # A pipeline of one statement would take longer than the statement alone.
        with atomic() as cursor, one_round_trip() if drafts else nullcontext():
            self.writes.insert.run(cursor, [cart])
            INSERT_ITEMS.run(cursor, [_item_row(cart, draft) for draft in drafts])
            options = (draft.option_rows(cart.profile_key) for draft in drafts)
            INSERT_OPTIONS.run(cursor, chain.from_iterable(options))
        cart._state.adding = False
        return cart

    def add_item(
        self, cart_id: UUID, values: Values, *, version: Expected = None, validate: bool = True
    ) -> int:
        """Add an item after the cart's last one; return the cart's version after it.

        Raises:
            ValidationError: values that the specification does not allow.
            Refusal: `cart_not_found`, `version_mismatch`, `currency_mismatch`, `too_many`.
        """
        item = ItemDraft.of(values)
        if validate:
            refuse(item.errors())
        with recorded() as cursor:
            cart, item.position = self._lock_with_end(cursor, cart_id, version)
            cart.check_fit(None, item)
            return self._write(cursor, cart, "Add Item", None, item)

    def replace_item(self, cart_id: UUID, item_id: UUID, values: Values, **how: Any) -> int:
        """Replace an item entirely, options included (specification: Update Item).

        The item keeps its id and its position, and nothing else that `values` does not name. `how`
        takes the other arguments of `change_item`.
        """
        return self.change_item(cart_id, item_id, values, replaces=True, **how)

    def change_item(
        self,
        cart_id: UUID,
        item_id: UUID,
        values: Values,
        *,
        version: Expected = None,
        validate: bool = True,
        replaces: bool = False,
    ) -> int:
        """Change the named fields of an item; the others stay as they are at that moment.

        Values that equal those held change nothing, unless the item is replaced. Returns the
        cart's version after it.

        Raises:
            ValidationError: values that the specification does not allow.
            Refusal: `cart_not_found`, `item_not_found`, `version_mismatch`,
                `currency_mismatch`, `too_many`.
        """
        with recorded() as cursor:
            cart, before = self._lock_with_item(cursor, cart_id, item_id, version)
            kept = {} if replaces else before.sent
            item = ItemDraft.of({**kept, **values, "id": item_id}, before.position)
            if validate:
                refuse(item.errors())
            if item.sent == kept:
                return cart.version
            cart.check_fit(before, item)
            operation = "Update Item" if replaces else "Change Item"
            return self._write(cursor, cart, operation, before, item)

    def remove_item(self, cart_id: UUID, item_id: UUID, *, version: Expected = None) -> int:
        """Remove an item and its options; return the cart's version after it.

        Raises:
            Refusal: `cart_not_found`, `item_not_found`, `version_mismatch`.
        """
        with recorded() as cursor:
            cart, before = self._lock_with_item(cursor, cart_id, item_id, version)
            return self._write(cursor, cart, "Remove Item", before, None)

    def change_cart(
        self, cart_id: UUID, values: Values, *, version: Expected = None, validate: bool = True
    ) -> int:
        """Change the named of the fields `CHANGEABLE`; the others stay as they are.

        Values that equal those held change nothing. Returns the cart's version after it.

        Raises:
            TypeError: a field that cannot be changed.
            ValidationError: values that the specification does not allow.
            Refusal: `cart_not_found`, `version_mismatch`.
        """
        if fixed := values.keys() - set(CHANGEABLE):
            raise TypeError(f"A cart's {', '.join(sorted(fixed))} cannot be changed.")
        if validate:
            cart = self.model(**values)
            refuse({name: e for name, e in field_errors(cart).items() if name in values})
            values = {name: getattr(cart, name) for name in values}
        with recorded() as cursor:
            cart, [row] = self._lock(cursor, cart_id, self.writes.changeable, {})
            cart.check_version(version)
            before = dict(zip(CHANGEABLE, row, strict=True))
            was, now = difference(before, {**before, **values}, CHANGEABLE)
            if not now:
                return cart.version
            new = cart.with_change(None, None, self.moment or timezone.now())
            self.writes.update.run(cursor, **new._asdict())
            self.writes.set(tuple(now)).run(cursor, **cart.keys, **now)
            self._record(cursor, cart, new, "Change Cart", None, (was, now))
            return new.version

    def delete_cart(self, cart_id: UUID, *, version: Expected = None) -> None:
        """Delete a cart with its items and its history.

        Raises:
            Refusal: `cart_not_found`, `version_mismatch`.
        """
        with recorded() as cursor:
            cart, _ = self._lock_with_end(cursor, cart_id, version)
            DELETE_OPTIONS_OF_CART.run(cursor, **cart.keys)
            DELETE_ITEMS.run(cursor, **cart.keys)
            DELETE_CHANGES.run(cursor, **cart.keys)
            self.writes.delete.run(cursor, **cart.keys)

    def _lock_with_end(
        self, cursor: Any, cart_id: UUID, version: Expected
    ) -> tuple[CartState, int]:
        """Lock the cart; return it with the position after its last item.

        Raises:
            Refusal: `cart_not_found`, `version_mismatch`.
        """
        cart, last = self._lock(cursor, cart_id, LAST_POSITION, {"cart_id": cart_id})
        cart.check_version(version)
        return cart, last[0][0] + 1 if last else 0

    def _lock_with_item(
        self, cursor: Any, cart_id: UUID, item_id: UUID, version: Expected
    ) -> tuple[CartState, ItemDraft]:
        """Lock the cart; return it with the item as it is.

        Raises:
            Refusal: `cart_not_found`, `item_not_found`, `version_mismatch`.
        """
        cart, rows = self._lock(cursor, cart_id, ITEM, {"id": item_id, "cart_id": cart_id})
        if not rows:
            raise ItemNotFound
        cart.check_version(version)
        return cart, item_draft(item_id, rows)

    def _lock(
        self, cursor: Any, cart_id: UUID, look: Select, values: Values
    ) -> tuple[CartState, list[Sequence[Any]]]:
        """Lock the cart until the transaction ends; return it with the rows of `look`.

        Both are sent at once. The second statement runs when the lock is held, so it sees what
        the last change has left.

        Raises:
            Refusal: `cart_not_found`.
        """
        keys = {**self.keys, "id": cart_id}
        if "profile_key" not in keys:
            customers = self.filter(pk=cart_id).values_list("profile_key", flat=True)
            if not (customer := customers.first()):
                raise CartNotFound
            keys["profile_key"] = customer
        lock = self.writes.lock(tuple(keys))
        carts, rows = fetch_together(cursor, lock, keys, look, {**keys, **values})
        if not carts:
            raise CartNotFound
        return CartState._make(carts[0]), rows

    def _write(
        self,
        cursor: Any,
        cart: CartState,
        operation: str,
        before: ItemDraft | None,
        after: ItemDraft | None,
    ) -> int:
        """Write the cart, the item and the record of the change. Return the cart's new version."""
        new = cart.with_change(before, after, self.moment or timezone.now())
        item: Any = after or before
        keys = {"id": item.id, "item_id": item.id, "profile_key": cart.profile_key}
        options_before = before.options if before else ()
        options_after = after.options if after else ()
        # The most frequent change is a new quantity, which leaves the options alone.
        new_options = list(options_before) != list(options_after)
        self.writes.update.run(cursor, **new._asdict())
        if new_options and options_before:
            DELETE_OPTIONS.run(cursor, **keys)
        if not after:
            DELETE_ITEM.run(cursor, **keys)
        elif before:
            UPDATE_ITEM.run(cursor, **keys, value=after.value, **after.values)
        else:
            INSERT_ITEMS.run(cursor, [_item_row(cart, after)])
        if after and new_options:
            INSERT_OPTIONS.run(cursor, after.option_rows(cart.profile_key))
        self._record(cursor, cart, new, operation, item, _differences(before, after))
        return new.version

    def _record(
        self,
        cursor: Any,
        cart: CartState,
        new: CartState,
        operation: str,
        item: ItemDraft | None,
        differences: tuple[Values, Values],
    ) -> None:
        """Record the change of the cart, and forget the one that is too old to be kept."""
        author, (was, now) = self._author(), map(encoded, differences)
        record = (
            *(cart.id, cart.profile_key, new.version, new.modified_on),
            *(author.kind, author.name, author.request_id, author.why),
            *(operation, item and item.id, item and item.values["display_name"]),
            *(was, now, cart.subtotal, new.subtotal),
        )
        INSERT_CHANGE.run(cursor, [record])
        if new.version > MAX_CHANGES + 1:
            DELETE_CHANGE.run(cursor, **cart.keys, version=new.version - MAX_CHANGES)

    def _author(self) -> Author:
        return self.author or Author.shell()


def _item_row(cart: Any, item: ItemDraft) -> tuple[Any, ...]:
    """Return the item as a row for `INSERT_ITEMS`."""
    keys = item.id, cart.id, cart.profile_key
    return *keys, item.position, *map(item.values.get, ITEM_FIELDS), item.value


def _differences(
    before: ItemDraft | None, after: ItemDraft | None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what the record of a change holds: what was, and what is."""
    if before and after:
        return difference(before.sent, after.sent, [*ITEM_FIELDS, "options"])
    whole = [{"position": item.position, **item.sent} if item else {} for item in (before, after)]
    return whole[0], whole[1]
