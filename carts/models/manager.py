"""The manager of carts: how they are read, and every change that can be made to them.

A change locks the cart's row and reads what it needs to decide, in one exchange with the database.
It decides in Python. It writes the cart, the item and the record of the change in another exchange,
and commits.
"""

from collections.abc import Iterable
from contextlib import nullcontext
from copy import copy
from datetime import datetime
from itertools import chain
from typing import Any, Generic, Self, TypeVar
from uuid import UUID

from django.conf import settings
from django.db import models
from django.utils import timezone

from carts.cart_errors import CartNotFound, ItemNotFound, TooMany
from carts.models import writes
from carts.models.cart_state import IN_ALL, CartState, Expected, Totals, refuse_any
from carts.models.change import MAX_CHANGES, Author, difference, encoded, recorded
from carts.models.item import ITEM_FIELDS
from carts.models.item_draft import ItemDraft, Values, field_errors, refuse
from carts.models.reads import CartQuerySet, get_cart, page_of_carts
from carts.models.writes import CHANGEABLE, CartWrites, item_draft
from cartsvc.db.statements import Rows, Select, atomic, fetch_together, one_round_trip

CartT = TypeVar("CartT", bound=models.Model)


class CartManager(models.Manager.from_queryset(CartQuerySet), Generic[CartT]):  # type: ignore[misc]
    """Reads and writes carts: all of them, or those that `by` has narrowed them to."""

    author: Author | None = None
    keys: Values = {}
    moment: datetime | None = None

    def contribute_to_class(self, cls: type[models.Model], name: str) -> None:
        """Prepare the statements for the model, which is known from here on."""
        super().contribute_to_class(cls, name)
        self.statements = CartWrites(cls)

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
        for version, text in get_cart(self.model, tuple(keys)).rows(**keys):
            return version, text
        return None

    def version_of(self, cart_id: UUID) -> int | None:
        return self.filter(pk=cart_id).values_list("version", flat=True).first()

    def page(self, limit: int, cursor: UUID | None = None) -> Rows:
        """Return the ids and JSON texts of up to `limit` carts, newest first.

        With a `cursor`, carts older than that id.
        """
        statement = page_of_carts(self.model, tuple(self.keys), limit, further=bool(cursor))
        return statement.rows(cursor=cursor, **self.keys)

    def create_with_items(
        self, *, items: Iterable[Values] | None = None, validate: bool = True, **values: Any
    ) -> CartT:
        """Create a cart with its items and their options (specification: Create Cart).

        `values`, the mappings in `items` and those in their `options` use the names of the
        model fields. `validate=False` is for values that a serializer has checked.

        Raises:
            ValidationError: values that the specification does not allow.
            ApiError: `currency_mismatch`, `too_many`.
        """
        author, moment = self.author or Author.shell(), self.moment or timezone.now()
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
            self.statements.insert.run(cursor, [cart])
            writes.INSERT_ITEMS.run(cursor, [draft.row(cart) for draft in drafts])
            options = (draft.option_rows(cart.profile_key) for draft in drafts)
            writes.INSERT_OPTIONS.run(cursor, chain.from_iterable(options))
        cart._state.adding = False
        return cart

    def add_item(
        self, cart_id: UUID, values: Values, *, version: Expected = None, validate: bool = True
    ) -> int:
        """Add an item after the cart's last one; return the cart's version after it.

        Raises:
            ValidationError: values that the specification does not allow.
            ApiError: `cart_not_found`, `version_mismatch`, `currency_mismatch`, `too_many`.
        """
        item = ItemDraft.of(values)
        if validate:
            refuse(item.errors())
        with recorded() as cursor:
            cart, last = self._lock(cursor, cart_id, version, writes.LAST_POSITION)
            item.position = last[0][0] + 1 if last else 0
            cart.check_fit(None, item)
            return self._write(cursor, cart, "Add Item", None, item)

    def replace_item(self, cart_id: UUID, item_id: UUID, values: Values, **how: Any) -> int:
        """Replace an item entirely, options included (specification: Update Item).

        The item keeps its id and its position. All else is as `values` says: what it does not name
        is taken away. `how` may be the `version` and `validate` of `change_item`.
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
            ApiError: `cart_not_found`, `item_not_found`, `version_mismatch`,
                `currency_mismatch`, `too_many`.
        """
        with recorded() as cursor:
            cart, rows = self._lock(cursor, cart_id, version, writes.ITEM, item_id)
            before = item_draft(item_id, rows)
            kept = {} if replaces else before.sent
            item = ItemDraft.of({**kept, **values, "id": item_id}, before.position)
            if validate:
                refuse(item.errors())
            if item.sent == kept:  # never so of a replacement, which keeps nothing
                return cart.version
            cart.check_fit(before, item)
            operation = "Update Item" if replaces else "Change Item"
            return self._write(cursor, cart, operation, before, item)

    def remove_item(self, cart_id: UUID, item_id: UUID, *, version: Expected = None) -> int:
        """Remove an item and its options; return the cart's version after it.

        Raises:
            ApiError: `cart_not_found`, `item_not_found`, `version_mismatch`.
        """
        with recorded() as cursor:
            cart, rows = self._lock(cursor, cart_id, version, writes.ITEM, item_id)
            return self._write(cursor, cart, "Remove Item", item_draft(item_id, rows), None)

    def change_cart(
        self, cart_id: UUID, values: Values, *, version: Expected = None, validate: bool = True
    ) -> int:
        """Change some of the fields `CHANGEABLE`. Those that are not in `values` stay as they are.

        Values that equal those held change nothing. Returns the cart's version after it.

        Raises:
            TypeError: a field that cannot be changed.
            ValidationError: values that the specification does not allow.
            ApiError: `cart_not_found`, `version_mismatch`.
        """
        if fixed := values.keys() - set(CHANGEABLE):
            raise TypeError(f"A cart's {', '.join(sorted(fixed))} cannot be changed.")
        if validate:
            cart = self.model(**values)
            refuse({name: e for name, e in field_errors(cart).items() if name in values})
            values = {name: getattr(cart, name) for name in values}
        with recorded() as cursor:
            cart, [row] = self._lock(cursor, cart_id, version, self.statements.changeable)
            before = dict(zip(CHANGEABLE, row, strict=True))
            was, now = difference(before, {**before, **values}, CHANGEABLE)
            if not now:
                return cart.version
            self.statements.set(tuple(now)).run(cursor, **cart.keys, **now)
            return self._record(cursor, cart, "Change Cart", None, None, was, now)

    def delete_cart(self, cart_id: UUID, *, version: Expected = None) -> None:
        """Delete a cart with its items and its history.

        Raises:
            ApiError: `cart_not_found`, `version_mismatch`.
        """
        with recorded() as cursor:
            cart, _ = self._lock(cursor, cart_id, version, writes.LAST_POSITION)
            writes.DELETE_OPTIONS_OF_CART.run(cursor, **cart.keys)
            writes.DELETE_ITEMS.run(cursor, **cart.keys)
            writes.DELETE_CHANGES.run(cursor, **cart.keys)
            self.statements.delete.run(cursor, **cart.keys)

    def _lock(
        self,
        cursor: Any,
        cart_id: UUID,
        version: Expected,
        look: Select,
        item_id: UUID | None = None,
    ) -> tuple[CartState, Rows]:
        """Lock the cart until the transaction ends; return it with the rows of `look`.

        Both are sent at once. The second statement runs when the lock is held, so it sees what
        the last change has left. Of an item, that is one row at least.
        """
        keys = {**self.keys, "id": cart_id}
        if "profile_key" not in keys:
            customers = self.filter(pk=cart_id).values_list("profile_key", flat=True)
            if not (customer := customers.first()):
                raise CartNotFound
            keys["profile_key"] = customer
        lock, looked = writes.lock(self.model, tuple(keys)), {**keys, "cart_id": cart_id}
        if item_id:
            looked["id"] = item_id
        carts, rows = fetch_together(cursor, lock, keys, look, looked)
        if not carts:
            raise CartNotFound
        if item_id and not rows:
            raise ItemNotFound
        cart = CartState._make(carts[0])
        cart.check_version(version)
        return cart, rows

    def _write(
        self,
        cursor: Any,
        cart: CartState,
        operation: str,
        before: ItemDraft | None,
        after: ItemDraft | None,
    ) -> int:
        """Write the item, the cart and the record of the change. Return the cart's new version."""
        item: Any = after or before
        keys = {"id": item.id, "item_id": item.id, "profile_key": cart.profile_key}
        options_before = before.options if before else ()
        options_after = after.options if after else ()
        # The most frequent change is a new quantity, which leaves the options alone.
        new_options = list(options_before) != list(options_after)
        if new_options and options_before:
            writes.DELETE_OPTIONS.run(cursor, **keys)
        if not after:
            writes.DELETE_ITEM.run(cursor, **keys)
        elif before:
            writes.UPDATE_ITEM.run(cursor, **keys, value=after.value, **after.values)
        else:
            writes.INSERT_ITEMS.run(cursor, [after.row(cart)])
        if after and new_options:
            writes.INSERT_OPTIONS.run(cursor, after.option_rows(cart.profile_key))
        if before and after:
            was, now = difference(before.sent, after.sent, [*ITEM_FIELDS, "options"])
        else:
            was, now = before.whole if before else {}, after.whole if after else {}
        return self._record(cursor, cart, operation, before, after, was, now)

    def _record(
        self,
        cursor: Any,
        cart: CartState,
        operation: str,
        before: ItemDraft | None,
        after: ItemDraft | None,
        *differences: Values,
    ) -> int:
        """Write the cart and the record of its change: what was, and what is.

        The change that is too old to be kept goes. Returns the cart's new version.
        """
        new = cart.with_change(before, after, self.moment or timezone.now())
        author, item = self.author or Author.shell(), after or before
        record = (
            *(cart.id, cart.profile_key, new.version, new.modified_on),
            *(author.kind, author.name, author.request_id, author.why),
            *(operation, item and item.id, item and item.values["display_name"]),
            *(*map(encoded, differences), cart.subtotal, new.subtotal),
        )
        self.statements.update.run(cursor, **new._asdict())
        writes.INSERT_CHANGE.run(cursor, [record])
        if new.version > MAX_CHANGES + 1:
            oldest = new.version - MAX_CHANGES
            writes.DELETE_CHANGE.run(cursor, **cart.keys, version=oldest)
        return new.version
