"""The manager of carts: every read of them, and every change that can be made to them.

A change locks the cart and looks (`reads`), decides here and in `writes`, and writes what that
returns, with the record of the change, in one round trip.
"""

from collections.abc import Iterable, Mapping, Sequence, Set
from datetime import datetime
from itertools import islice
from types import MappingProxyType
from typing import Any, Self
from uuid import UUID

from django.db import IntegrityError, OperationalError, models
from django.db.models import Q
from django.utils import timezone
from uuid_utils.compat import uuid7

from carts.cart_errors import CartNotFound, ItemNotFound, ListedItemNotFound
from carts.changeable_fields import CHANGEABLE_CART_FIELDS
from carts.checked_record import checked_changes
from carts.models import cart_statements
from carts.models.cart import Cart
from carts.models.cart_change import (
    Author,
    CartChange,
    difference,
    item_differences,
    recorded_item,
)
from carts.models.cart_status import OPEN, CartStatus
from carts.models.item import CartItem
from carts.models.reads import (
    SELECT_CHANGEABLE,
    SELECT_ITEM,
    SELECT_ITEMS,
    SELECT_KEPT,
    SELECT_LAST_POSITION,
    CartQuerySet,
    PageCursor,
    items_in_rows,
    next_position,
    select_and_lock,
    select_cart,
    select_summaries,
)
from carts.models.tombstones import KEPT_OF_DELETED
from carts.models.writes import (
    CartRow,
    Expected,
    Outcome,
    WhatChanged,
    change_statements,
    insertions,
    item_deletions,
    item_statements,
    next_version,
)
from carts.records import Closing, Item, NewCart, PlacedItem, Reopening, checked_key, placed_items
from cartsvc.db.compiled_statements import Rows, Select
from cartsvc.db.database_errors import is_key_taken
from cartsvc.db.time_limits import REQUEST_SECONDS
from cartsvc.db.transaction import Sent, Transaction
from cartsvc.guids import made_at
from cartsvc.request_errors import MAX_ERRORS, ApiErrors, InvalidGuid

# The most items and options, together, of a cart that a change returns, and of bytes of its JSON.
# It is read under the cart's lock, and kept with an Idempotency-Key.
MAX_RETURNED, MAX_RETURNED_BYTES = 250, 64 * 1024


class CartManager(models.Manager.from_queryset(CartQuerySet)):  # type: ignore[misc]
    """Reads and writes carts: all of them, or those that `by` has narrowed them to.

    A change raises what its operation in `carts.views` declares, but for the Idempotency-Key; with
    items also `currency_mismatch` and `too_many`. A name that a record does not have is a
    TypeError, and values that the specification does not allow are InvalidValues.
    """

    _author: Author | None = None
    keys: Mapping[str, object] = MappingProxyType({})
    moment: datetime | None = None  # of changes, if not now
    returns_cart = False  # with the outcome of a change, unless it is large

    @property
    def author(self) -> Author:
        return self._author or Author.shell()

    def by(self, author: Author | None, *, returns_cart: bool = False, **keys: object) -> Self:
        """Return a manager of the carts whose fields have the `keys`, for changes by `author`."""
        carts = type(self)()
        carts.__dict__.update(vars(self), _author=author, returns_cart=returns_cart)
        # Earlier keys win, so that a second call cannot widen the selection.
        carts.keys = {**keys, **self.keys}
        return carts

    def dated(self, moment: datetime) -> Self:
        """Return a manager whose changes are dated `moment`. For demonstrations."""
        carts = self.by(self._author)
        carts.moment = moment
        return carts

    def get_queryset(self) -> CartQuerySet:
        return CartQuerySet(self.model, using=self._db).filter(**self.keys)

    def version_and_json(self, cart_id: UUID) -> tuple[int, str]:
        """Return the cart's version and the JSON text that Get Cart shows."""
        keys = {**self.keys, "id": cart_id}
        select = select_cart(tuple(keys))
        for version, text in select.rows(**keys, moment=self.moment or timezone.now()):
            return version, text
        raise CartNotFound

    def current_version(self, cart_id: UUID) -> int | None:
        """Return the version; None if its checkout has run out, so that it shows another status."""
        lasts = Q(closed_until=None) | Q(closed_until__gt=self.moment or timezone.now())
        return self.filter(lasts, pk=cart_id).values_list("version", flat=True).first()

    def summaries(
        self,
        limit: int,
        cursor: UUID | PageCursor | None = None,
        status: str | None = None,
        *,
        by_change: bool = False,
    ) -> Sequence[Sequence[Any]]:
        """Return the cursors and JSON texts of up to `limit` carts, those beyond the `cursor`."""
        select = select_summaries(
            tuple(self.keys),
            limit,
            status,
            further=cursor is not None,
            by_change=by_change,
        )
        at, cart_id = cursor[:2] if isinstance(cursor, PageCursor) else (None, cursor)
        moment = self.moment or timezone.now()
        rows = select.rows(cart_id=cart_id, at=at, moment=moment, **self.keys)
        return [(PageCursor(at, key), text) for key, text, at in rows] if by_change else rows

    def _lock_row(
        self, transaction: Transaction, cart_id: UUID, *looks: Select, item_id: UUID | None = None
    ) -> tuple[CartRow, list[Rows]]:
        """Lock the cart until the transaction ends; return it with the rows of each of `looks`.

        All are sent at once. Those after the first run when the lock is held, so they see what the
        last change has left. If an item's id is given, the first look must find the item.
        """
        keys = {**self.keys, "id": cart_id}
        if "profile_key" not in keys:
            # A shell gives the key, the text of it, or the cart.
            keys["id"] = cart_id = checked_key("cart_id", getattr(cart_id, "pk", cart_id))
            customers = self.filter(pk=cart_id).values_list("profile_key", flat=True)
            if not (customer := customers.first()):
                raise CartNotFound
            keys["profile_key"] = customer
        lock = select_and_lock(tuple(keys))
        values = {**keys, "cart_id": cart_id, "item_id": item_id}
        locked, *found = transaction.round_trip((one, values) for one in (lock, *looks))
        if not locked:
            raise CartNotFound
        if item_id and not found[0]:
            raise ItemNotFound
        return CartRow(self.moment or timezone.now(), *locked[0]), found

    def _lock(
        self,
        transaction: Transaction,
        cart_id: UUID,
        version: Expected,
        *looks: Select,
        item_id: UUID | None = None,
    ) -> tuple[CartRow, list[Rows]]:
        """Do as `_lock_row`; refuse a cart that is closed, or not at an expected `version`."""
        cart, found = self._lock_row(transaction, cart_id, *looks, item_id=item_id)
        if cart.stored_status != OPEN:
            cart.status.check_open()
        if version is not None:
            cart.check_version(version)
        return cart, found

    def create_with_items(
        self,
        *,
        profile_key: UUID | str,
        items: Iterable[Item | Mapping[str, object]] = (),
        **values: Any,
    ) -> Cart:
        """Create a cart of the values of a `NewCart` (specification: Create Cart)."""
        cart_id, customer = uuid7(), checked_key("profile_key", profile_key)
        self.create_cart(cart_id, customer, NewCart(**values | {"items": items}))
        cart: Cart = self.get(pk=cart_id)
        return cart

    def create_cart(self, cart_id: UUID, profile_key: UUID, new: NewCart) -> Outcome:
        """Create a cart (specification: Create Cart). Its id must have been made just now."""
        author, made = self.author, made_at(cart_id)
        moment = self.moment or max(timezone.now(), made)  # the clock may have been set back
        items = placed_items({uuid7(): item for item in new.items})
        empty = CartRow(moment, cart_id, profile_key, new.currency, moment)
        cart = next_version(empty, after=items, sent_in=("items",))
        values = {
            **new._asdict(),
            **cart._asdict(),
            "created_on": moment,
            "created_by_kind": author.kind,
            "created_by_name": author.name,
            "created_request_id": author.request_id,
        }
        insertion = cart_statements.INSERT_CART, values
        statements = [insertion, *insertions(cart, items)]
        with Transaction.begin() as transaction:
            transaction.round_trip(statements)
            # See `change_feed.settled_until`. The process or the server may have been halted
            # meanwhile, so COMMIT must not be on its way already.
            age = timezone.now() - made
            if not self.moment and age.total_seconds() > REQUEST_SECONDS:
                raise OperationalError("The cart's id was made too long ago.")
        return Outcome(cart.version, cart.subtotal, None, is_change=True)

    def change_cart(
        self, cart_id: UUID, changes: Mapping[str, object], *, version: Expected = None
    ) -> Outcome:
        """Change some of `CHANGEABLE_CART_FIELDS`. Values that equal those held change nothing."""
        if fixed := changes.keys() - set(CHANGEABLE_CART_FIELDS):
            named, taken = ", ".join(sorted(fixed)), ", ".join(CHANGEABLE_CART_FIELDS)
            raise TypeError(f"A change of a cart takes no {named}, only {taken}.")
        checked = checked_changes(NewCart, changes)
        with Transaction.begin() as transaction:
            cart, [[row]] = self._lock(transaction, cart_id, version, SELECT_CHANGEABLE)
            held = dict(zip(CHANGEABLE_CART_FIELDS, row, strict=True))
            change = WhatChanged("Change Cart", *difference(held, checked))
            if not change.new:
                return self._unchanged(cart)
            update = cart_statements.update_cart(tuple(checked))
            statements = [(update, {**cart.key, **checked})]
            return self._write(transaction, cart, next_version(cart), change, statements)

    def close_cart(self, cart_id: UUID, closing: Closing, *, version: Expected = None) -> Outcome:
        """Close a cart. To close it again in the same way changes nothing."""
        with Transaction.begin() as transaction:
            cart, _ = self._lock_row(transaction, cart_id)
            status = cart.status.closed(closing, cart.moment)
            return self._write_status(transaction, cart, version, "Close Cart", status)

    def reopen_cart(
        self, cart_id: UUID, reopening: Reopening | None = None, *, version: Expected = None
    ) -> Outcome:
        """Open a closed cart, or no more than `reopening` says. An open one stays as it is."""
        with Transaction.begin() as transaction:
            cart, _ = self._lock_row(transaction, cart_id)
            status = cart.status.reopened(reopening)
            return self._write_status(transaction, cart, version, "Reopen Cart", status)

    def _write_status(
        self,
        transaction: Transaction,
        cart: CartRow,
        version: Expected,
        operation: str,
        status: CartStatus,
    ) -> Outcome:
        """Write the status unless the cart has it now."""
        if version is not None:
            cart.check_version(version)
        change = WhatChanged(operation, *difference(cart.status._asdict(), status._asdict()))
        if not change.new:
            return self._unchanged(cart)
        return self._write(transaction, cart, next_version(cart).in_status(status), change, [])

    def move_cart(self, cart_id: UUID, profile_key: UUID, *, version: Expected = None) -> Outcome:
        """Give a cart to another customer, as it is. To its own, this changes nothing."""
        with Transaction.begin() as transaction:
            cart, _ = self._lock(transaction, cart_id, version)
            if cart.profile_key == profile_key:
                return self._unchanged(cart)
            new = next_version(cart)._replace(profile_key=profile_key)
            old_key, new_key = ({"profile_key": str(row.profile_key)} for row in (cart, new))
            rows = {"old": cart.profile_key, "new": profile_key, "cart": cart.id}
            left = {**cart.key, "moved_on": new.modified_on, **self.author.columns}
            statements: list[Sent] = [
                (cart_statements.MOVE_ROWS, rows),
                # It may come back to a customer whose it was.
                (cart_statements.DELETE_MOVED, new.key),
                (cart_statements.INSERT_MOVED, left),
            ]
            change = WhatChanged("Move Cart", old_key, new_key)
            return self._write(transaction, cart, new, change, statements)

    def delete_cart(self, cart_id: UUID, *, version: Expected = None) -> None:
        """Delete a cart with its items and its history. A `DeletedCart` says who did, and when."""
        with Transaction.begin() as transaction:
            cart, [[kept]] = self._lock(transaction, cart_id, version, SELECT_KEPT)
            left = {
                **cart.key,
                **dict(zip(KEPT_OF_DELETED, kept, strict=True)),
                "deleted_on": max(cart.modified_on, cart.moment),
                **self.author.columns,
            }
            statements: list[Sent] = [
                *item_deletions(cart),
                (cart_statements.DELETE_CHANGES, cart.key),
                (cart_statements.DELETE_CART, cart.key),
                (cart_statements.INSERT_DELETED, left),
            ]
            transaction.round_trip(statements, commit=True)

    def add_item(
        self, cart_id: UUID, item_id: UUID, item: Item, *, version: Expected = None
    ) -> Outcome:
        """Add an item after the cart's last one."""
        with Transaction.begin() as transaction:
            cart, [last] = self._lock(transaction, cart_id, version, SELECT_LAST_POSITION)
            [added] = placed_items({item_id: item}, next_position(last))
            new = next_version(cart, after=[added])
            change = WhatChanged("Add Item", {}, recorded_item(added), added)
            return self._write(transaction, cart, new, change, insertions(cart, [added]))

    def add_items(
        self, cart_id: UUID, items: Mapping[UUID, Item], *, version: Expected = None
    ) -> Outcome:
        """Add items, by their ids, after the cart's last one: all or none. See `add_item`."""
        with Transaction.begin() as transaction:
            cart, [last] = self._lock(transaction, cart_id, version, SELECT_LAST_POSITION)
            if not items:
                return self._unchanged(cart)
            added = placed_items(items, next_position(last))
            new = next_version(cart, after=added, sent_in=("items",))
            change = WhatChanged("Add Items", *item_differences([], added))
            return self._write(transaction, cart, new, change, insertions(cart, added))

    def replace_item(
        self, cart_id: UUID, item_id: UUID, item: Item, *, version: Expected = None
    ) -> Outcome:
        """Replace an item entirely, but for its id and position (specification: Update Item)."""
        with Transaction.begin() as transaction:
            cart, [rows] = self._lock(transaction, cart_id, version, SELECT_ITEM, item_id=item_id)
            [placed] = items_in_rows(rows)
            return self._write_item(transaction, cart, "Update Item", placed, item)

    def change_item(
        self,
        cart_id: UUID,
        item_id: UUID,
        changes: Mapping[str, object],
        *,
        version: Expected = None,
    ) -> Outcome:
        """Change the named fields of an item. Values that equal those held change nothing."""
        checked = checked_changes(Item, changes)
        with Transaction.begin() as transaction:
            cart, [rows] = self._lock(transaction, cart_id, version, SELECT_ITEM, item_id=item_id)
            [placed] = items_in_rows(rows)
            # What is not named is not checked: it may be above a limit that was lowered since.
            item = Item._make(map(checked.get, Item._fields, placed.item))
            if item == placed.item:
                return self._unchanged(cart)
            return self._write_item(transaction, cart, "Change Item", placed, item)

    def remove_item(self, cart_id: UUID, item_id: UUID, *, version: Expected = None) -> Outcome:
        with Transaction.begin() as transaction:
            cart, [rows] = self._lock(transaction, cart_id, version, SELECT_ITEM, item_id=item_id)
            [removed] = items_in_rows(rows)
            change = WhatChanged("Remove Item", recorded_item(removed), {}, removed)
            statements = item_statements(cart, removed, None)
            return self._write(transaction, cart, next_version(cart, [removed]), change, statements)

    def _write_item(
        self, transaction: Transaction, cart: CartRow, operation: str, old: PlacedItem, item: Item
    ) -> Outcome:
        new = old._replace(item=item, value=item.value)
        differs = difference(old.item._asdict(), item._asdict())
        change = WhatChanged(operation, *differs, new)
        statements = item_statements(cart, old, new)
        return self._write(transaction, cart, next_version(cart, [old], [new]), change, statements)

    def replace_items(
        self,
        cart_id: UUID,
        items: Mapping[UUID, Item],
        kept: Set[UUID] = frozenset(),
        *,
        version: Expected = None,
    ) -> Outcome:
        """Make the cart's items these, by their ids and in this order. It must have the `kept`."""
        with Transaction.begin() as transaction:
            cart, [rows] = self._lock(transaction, cart_id, version, SELECT_ITEMS)
            before = [*items_in_rows(rows)]
            gone = kept - {placed.id for placed in before}
            missing = (n for n, key in enumerate(items) if key in gone)
            if listed := [
                ListedItemNotFound(field=("items", n, "id"))
                for n in islice(missing, MAX_ERRORS + 1)
            ]:
                raise ApiErrors(listed)
            if list(items.items()) == [(placed.id, placed.item) for placed in before]:
                return self._unchanged(cart)
            after = placed_items(items)
            new = next_version(cart, before, after, ("items",))
            change = WhatChanged("Replace Items", *item_differences(before, after))
            statements = [*item_deletions(cart), *insertions(cart, after)]
            return self._write(transaction, cart, new, change, statements)

    def _write(
        self,
        transaction: Transaction,
        cart: CartRow,
        new: CartRow,
        change: WhatChanged,
        statements: Sequence[Sent],
    ) -> Outcome:
        """Send the statements, and with them the cart as it is now and the record of its change."""
        sent = [*statements, *change_statements(cart, new, change, self.author)]
        if self.returns_cart and new.size <= MAX_RETURNED:
            select = select_cart(cart_statements.CART_KEYS)
            sent.append((select, new._asdict()))
        try:
            shown = transaction.round_trip(sent, commit=True)
        except IntegrityError as error:
            if is_key_taken(error, CartChange):
                # Two changes that make the same version are an outage, so that the caller tries
                # again. One server's lock makes that impossible. On Citus, a shard may move between
                # lock and write.
                raise OperationalError(str(error)) from error
            if is_key_taken(error, CartItem):
                text = "There is an item with this id already."
                raise InvalidGuid(text, field=("id",)) from error
            raise
        json = shown[0][0][1] if shown else None
        return Outcome(new.version, new.subtotal, _returned(json), is_change=True)

    def _unchanged(self, cart: CartRow) -> Outcome:
        returns_cart = self.returns_cart and cart.size <= MAX_RETURNED
        json = self.version_and_json(cart.id)[1] if returns_cart else None
        return Outcome(cart.version, cart.subtotal, _returned(json), is_change=False)


def _returned(json: str | None) -> str | None:
    return json if json and len(json.encode()) <= MAX_RETURNED_BYTES else None


CartManager().contribute_to_class(Cart, "objects")
