"""The manager of carts: every change that can be made to them, one method each.

Each locks the cart and looks (`locked_cart`), decides here and in `totals`, and writes (`writes`).
Reads are in `reads`.
"""

from collections.abc import Iterable, Mapping, Set
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, Any, Self
from uuid import UUID

from django.db import OperationalError
from django.utils import timezone
from uuid_utils.compat import uuid7

from carts.cart_errors import ListedItemNotFound
from carts.changeable_fields import CHANGEABLE_CART_FIELDS
from carts.models import cart_statements
from carts.models.cart_change import Author, difference, item_differences, recorded_item
from carts.models.cart_status import OPEN, CartStatus
from carts.models.deleted_cart import KEPT_OF_DELETED
from carts.models.locked_cart import (
    SELECT_ITEM,
    SELECT_ITEMS,
    SELECT_LAST_POSITION,
    Expected,
    LockedCart,
    fields_of_cart,
    items_in_rows,
    lock_cart,
    lock_open_cart,
    next_position,
)
from carts.models.totals import next_version
from carts.models.writes import CartWriter, Changed, change_transaction
from carts.records import Closing, Item, NewCart, PlacedItem, Reopening, checked_key, placed_items
from carts.validation import checked_changes
from cartsvc.db.compiled_statements import Cursor, one_exchange
from cartsvc.db.time_limits import REQUEST_SECONDS
from cartsvc.guids import made_at
from cartsvc.request_errors import MAX_ERRORS, ApiErrors

if TYPE_CHECKING:
    from carts.models.cart import Cart


class CartManager(CartWriter):
    """Reads and writes carts: all of them, or those that `by` has narrowed them to.

    A method raises what its operation in `carts.views` declares, but for the Idempotency-Key; with
    items also `currency_mismatch` and `too_many`. A name that a record does not have is a
    TypeError, and values that the specification does not allow are InvalidValues.
    """

    def by(self, author: Author, **keys: Any) -> Self:
        """Return a manager of the carts whose fields have the `keys`, for changes by `author`."""
        carts = type(self)()
        # Earlier keys win, so that a second call cannot widen the selection.
        carts.__dict__.update(vars(self), author=author, keys={**keys, **self.keys})
        return carts

    def dated(self, moment: datetime) -> Self:
        """Return a manager whose changes are dated `moment`. For demonstrations."""
        carts = self.by(self.author or Author.shell())
        carts.moment = moment
        return carts

    def create_with_items(
        self,
        *,
        profile_key: UUID | str,
        items: Iterable[Item | Mapping[str, object]] = (),
        **values: Any,
    ) -> "Cart":
        """Create a cart of the values of a `NewCart` (specification: Create Cart)."""
        cart_id, customer = uuid7(), checked_key("profile_key", profile_key)
        self.create_cart(cart_id, customer, NewCart(**values | {"items": items}))
        cart: Cart = self.get(pk=cart_id)
        return cart

    def create_cart(self, cart_id: UUID, profile_key: UUID, new: NewCart) -> Changed:
        """Create a cart (specification: Create Cart). Its id must have been made just now."""
        author, now = self.author or Author.shell(), self.moment
        if now is None:  # the clock may have been set back
            now = max(timezone.now(), made_at(cart_id))
        items = placed_items({uuid7(): item for item in new.items})
        empty = LockedCart(now, cart_id, profile_key, new.currency, now)
        cart = next_version(empty, [], items, ("items",))
        with change_transaction() as cursor:
            with one_exchange(cursor):
                cart_statements.insert_cart(self.model).run(
                    cursor,
                    **new._asdict() | cart._asdict(),
                    created_on=now,
                    created_by_kind=author.kind,
                    created_by_name=author.name,
                    created_request_id=author.request_id,
                )
                self._insert_items(cursor, cart, items)
            # See `change_feed.settled_until`. The process or the server may have been halted
            # meanwhile, so COMMIT must not be on its way already.
            age = timezone.now() - made_at(cart_id)
            if not self.moment and age.total_seconds() > REQUEST_SECONDS:
                raise OperationalError("The cart's id was made too long ago.")
        return Changed(cart.version, cart.subtotal)

    def change_cart(
        self, cart_id: UUID, changes: Mapping[str, object], *, version: Expected = None
    ) -> Changed:
        """Change some of `CHANGEABLE_CART_FIELDS`. Values that equal those held change nothing."""
        if fixed := changes.keys() - set(CHANGEABLE_CART_FIELDS):
            named, taken = ", ".join(sorted(fixed)), ", ".join(CHANGEABLE_CART_FIELDS)
            raise TypeError(f"A change of a cart takes no {named}, only {taken}.")
        checked = checked_changes(NewCart, changes)
        with change_transaction() as cursor:
            look = fields_of_cart(self.model, CHANGEABLE_CART_FIELDS)
            cart, [[row]] = lock_open_cart(self, cursor, cart_id, version, look)
            was, now = difference(dict(zip(CHANGEABLE_CART_FIELDS, row, strict=True)), checked)
            if not now:
                return self._unchanged(cart)
            new = next_version(cart, [], [])
            with self._recorded(cursor, cart, new, "Change Cart", was, now) as changed:
                write = cart_statements.update_cart(self.model, tuple(checked))
                write.run(cursor, id=cart.id, profile_key=cart.profile_key, **checked)
            return changed

    def close_cart(self, cart_id: UUID, closing: Closing, *, version: Expected = None) -> Changed:
        """Close a cart. To close it again in the same way changes nothing."""
        with change_transaction() as cursor:
            cart, _ = lock_cart(self, cursor, cart_id)
            new = cart.status.after(closing, cart.now)
            cart.check_version(version)
            return self._write_status(cursor, cart, "Close Cart", new)

    def reopen_cart(
        self, cart_id: UUID, reopening: Reopening, *, version: Expected = None
    ) -> Changed:
        """Open a closed cart. Of an open one, this changes nothing."""
        with change_transaction() as cursor:
            cart, _ = lock_cart(self, cursor, cart_id)
            cart.status.check_opens(reopening)
            cart.check_version(version)
            return self._write_status(cursor, cart, "Reopen Cart", CartStatus(OPEN))

    def move_cart(self, cart_id: UUID, profile_key: UUID, *, version: Expected = None) -> Changed:
        """Give a cart to another customer, as it is. To its own, this changes nothing."""
        author = self.author or Author.shell()
        with change_transaction() as cursor:
            cart, _ = lock_open_cart(self, cursor, cart_id, version)
            if cart.profile_key == profile_key:
                return self._unchanged(cart)
            new = next_version(cart, [], [])._replace(profile_key=profile_key)
            was, now = ({"profile_key": str(one.profile_key)} for one in (cart, new))
            keys = {"old": cart.profile_key, "new": profile_key, "cart": cart.id}
            with self._recorded(cursor, cart, new, "Move Cart", was, now) as changed:
                cart_statements.move_rows(self.model).run(cursor, **keys)
                # It may come back to a customer whose it was.
                cart_statements.DELETE_MOVED.run(cursor, cart_id=cart.id, profile_key=profile_key)
                cart_statements.INSERT_MOVED.run(
                    cursor,
                    cart_id=cart.id,
                    profile_key=cart.profile_key,
                    moved_on=new.modified_on,
                    **author.columns,
                )
            return changed

    def delete_cart(self, cart_id: UUID, *, version: Expected = None) -> None:
        """Delete a cart with its items and its history. A `DeletedCart` says who did, and when."""
        author = self.author or Author.shell()
        with change_transaction() as cursor:
            look = fields_of_cart(self.model, KEPT_OF_DELETED)
            cart, [[kept]] = lock_open_cart(self, cursor, cart_id, version, look)
            keys = {"id": cart.id, "cart_id": cart.id, "profile_key": cart.profile_key}
            with one_exchange(cursor, is_last=True):
                self._delete_items(cursor, cart)
                cart_statements.DELETE_CHANGES.run(cursor, **keys)
                cart_statements.delete_cart(self.model).run(cursor, **keys)
                cart_statements.INSERT_DELETED.run(
                    cursor,
                    **keys,
                    **dict(zip(KEPT_OF_DELETED, kept, strict=True)),
                    deleted_on=max(cart.modified_on, cart.now),
                    **author.columns,
                )

    def add_item(
        self, cart_id: UUID, item_id: UUID, item: Item, *, version: Expected = None
    ) -> Changed:
        """Add an item after the cart's last one."""
        with change_transaction() as cursor:
            cart, [last] = lock_open_cart(self, cursor, cart_id, version, SELECT_LAST_POSITION)
            after = placed_items({item_id: item}, next_position(last))
            new, now = next_version(cart, [], after), recorded_item(after[0])
            with self._recorded(cursor, cart, new, "Add Item", {}, now, after[0]) as changed:
                self._insert_items(cursor, cart, after)
            return changed

    def add_items(
        self, cart_id: UUID, items: Mapping[UUID, Item], *, version: Expected = None
    ) -> Changed:
        """Add items, by their ids, after the cart's last one: all or none. See `add_item`."""
        with change_transaction() as cursor:
            cart, [last] = lock_open_cart(self, cursor, cart_id, version, SELECT_LAST_POSITION)
            if not items:
                return self._unchanged(cart)
            after = placed_items(items, next_position(last))
            was, now = item_differences([], after)
            new = next_version(cart, [], after, ("items",))
            with self._recorded(cursor, cart, new, "Add Items", was, now) as changed:
                self._insert_items(cursor, cart, after)
            return changed

    def replace_item(
        self, cart_id: UUID, item_id: UUID, item: Item, *, version: Expected = None
    ) -> Changed:
        """Replace an item entirely, but for its id and position (specification: Update Item)."""
        with change_transaction() as cursor:
            cart, before = self._lock_item(cursor, cart_id, item_id, version)
            return self._write_item(cursor, cart, "Update Item", before, item)

    def change_item(
        self,
        cart_id: UUID,
        item_id: UUID,
        changes: Mapping[str, object],
        *,
        version: Expected = None,
    ) -> Changed:
        """Change the named fields of an item. Values that equal those held change nothing."""
        checked = checked_changes(Item, changes)
        with change_transaction() as cursor:
            cart, before = self._lock_item(cursor, cart_id, item_id, version)
            # What is not named is not checked: it may be above a limit that was lowered since.
            item = Item._make(map(checked.get, Item._fields, before.item))
            if item == before.item:
                return self._unchanged(cart)
            return self._write_item(cursor, cart, "Change Item", before, item)

    def _lock_item(
        self, cursor: Cursor, cart_id: UUID, item_id: UUID, version: Expected
    ) -> tuple[LockedCart, PlacedItem]:
        cart, [rows] = lock_open_cart(self, cursor, cart_id, version, SELECT_ITEM, item_id=item_id)
        [item] = items_in_rows(rows)
        return cart, item

    def remove_item(self, cart_id: UUID, item_id: UUID, *, version: Expected = None) -> Changed:
        with change_transaction() as cursor:
            cart, before = self._lock_item(cursor, cart_id, item_id, version)
            new = next_version(cart, [before], [])
            was, key = recorded_item(before), {"profile_key": cart.profile_key}
            with self._recorded(cursor, cart, new, "Remove Item", was, {}, before) as changed:
                if before.item.options:
                    cart_statements.DELETE_OPTIONS.run(cursor, item_id=item_id, **key)
                cart_statements.DELETE_ITEM.run(cursor, id=item_id, **key)
            return changed

    def replace_items(
        self,
        cart_id: UUID,
        items: Mapping[UUID, Item],
        *,
        kept: Set[UUID] = frozenset(),
        version: Expected = None,
    ) -> Changed:
        """Make the cart's items these, by their ids and in this order. It must have the `kept`."""
        with change_transaction() as cursor:
            cart, [rows] = lock_open_cart(self, cursor, cart_id, version, SELECT_ITEMS)
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
            was, now = item_differences(before, after)
            new = next_version(cart, before, after, ("items",))
            with self._recorded(cursor, cart, new, "Replace Items", was, now) as changed:
                self._delete_items(cursor, cart)
                self._insert_items(cursor, cart, after)
            return changed
