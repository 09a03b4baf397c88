"""How a change of a cart is made: lock it, look at it, decide, and write.

A change locks the cart's row and reads what it needs to decide, in one exchange with the database.
It decides in Python. It writes the cart, its items and the record of the change in another
exchange, and commits.
"""

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.db import IntegrityError, OperationalError, connection, transaction

from carts.cart_errors import CartNotFound, ItemNotFound
from carts.models import cart_statements
from carts.models.cart_change import (
    MAX_CHANGES,
    Author,
    CartChange,
    difference,
    encoded,
)
from carts.models.closing import OPEN, CartStatus, status_columns, with_status
from carts.models.reads import CartReader, get_cart
from carts.models.totals import Expected, LockedCart
from carts.records import Item, PlacedItem, checked_key
from cartsvc.db.compiled_statements import Rows, Select, one_exchange


@dataclass
class Changed:
    """A cart after a change: as Get Cart shows it, if the manager `returns_cart`."""

    version: int
    subtotal: Decimal
    json: str | None = None


class CartWriter(CartReader):
    """What the changes of `CartManager` have in common."""

    returns_cart = False  # as JSON, read in the transaction of the change

    def _lock(
        self,
        cursor: Any,
        cart_id: UUID,
        look: Select | None = None,
        item_id: UUID | None = None,
    ) -> tuple[LockedCart, Rows]:
        """Lock the cart until the transaction ends; return it with the rows of `look`, if given.

        Both are sent at once. The second statement runs when the lock is held, so it sees what the
        last change has left. An item whose id is given is looked for, and the cart must have it.
        """
        keys = {**self.keys, "id": cart_id}
        if "profile_key" not in keys:
            # A shell gives the key, the text of it, or the cart.
            keys["id"] = cart_id = checked_key("cart_id", getattr(cart_id, "pk", cart_id))
            customers = self.filter(pk=cart_id).values_list("profile_key", flat=True)
            if not (customer := customers.first()):
                raise CartNotFound
            keys["profile_key"] = customer
        lock = cart_statements.lock(self.model, tuple(keys))
        with cursor.db.cursor() as other:
            with one_exchange(cursor):
                lock.send(cursor, keys)
                if look:
                    look.send(other, {**keys, "cart_id": cart_id, "item_id": item_id})
            carts, rows = lock.received(cursor), look.received(other) if look else []
        if not carts:
            raise CartNotFound
        if item_id and not rows:
            raise ItemNotFound
        return LockedCart._make(carts[0]), rows

    def _lock_open(
        self,
        cursor: Any,
        cart_id: UUID,
        version: Expected,
        look: Select | None = None,
        item_id: UUID | None = None,
    ) -> tuple[LockedCart, Rows]:
        """Do as `_lock`, for a change that needs an open cart."""
        cart, rows = self._lock(cursor, cart_id, look, item_id)
        if cart.status != OPEN:
            CartStatus.of(cart, self.current_time()).check_open()
        cart.check_version(version)
        return cart, rows

    def _write_item(
        self, cursor: Any, cart: LockedCart, operation: str, before: PlacedItem, item: Item
    ) -> Changed:
        after = before._replace(item=item, value=item.value)
        new = cart.next_version([before], [after], self.current_time())
        was, now = difference(before.item._asdict(), item._asdict())
        key = {"profile_key": cart.profile_key}
        with self._recorded(cursor, cart, new, operation, was, now, after) as changed:
            # The most frequent change is a new quantity, which leaves the options alone.
            new_options = item.options != before.item.options
            if new_options and before.item.options:
                cart_statements.DELETE_OPTIONS.run(cursor, item_id=before.id, **key)
            cart_statements.UPDATE_ITEM.run(
                cursor, id=before.id, **key, value=after.value, **item._asdict()
            )
            if new_options:
                rows = cart_statements.option_rows([after])
                cart_statements.INSERT_OPTIONS.run(cursor, rows, cart.profile_key)
        return changed

    def _write_cart(
        self,
        cursor: Any,
        cart: LockedCart,
        operation: str,
        before: Mapping[str, Any],
        after: Mapping[str, Any],
        moment: datetime,
    ) -> Changed:
        """Write the fields `after`, all of them, unless they equal those `before`."""
        was, now = difference(before, after)
        if not now:
            return self._unchanged(cart)
        new = cart.next_version([], [], moment)
        with self._recorded(cursor, cart, new, operation, was, now) as changed:
            write = cart_statements.update_cart(self.model, tuple(after))
            write.run(cursor, id=cart.id, profile_key=cart.profile_key, **after)
        return changed

    def _insert_items(self, cursor: Any, cart: LockedCart, placed: Collection[PlacedItem]) -> None:
        items, options = cart_statements.item_rows(placed), cart_statements.option_rows(placed)
        cart_statements.INSERT_ITEMS.run(cursor, items, cart.profile_key, cart.id)
        cart_statements.INSERT_OPTIONS.run(cursor, options, cart.profile_key)

    def _delete_items(self, cursor: Any, cart: LockedCart) -> None:
        for delete in (cart_statements.DELETE_OPTIONS_OF_CART, cart_statements.DELETE_ITEMS):
            delete.run(cursor, cart_id=cart.id, profile_key=cart.profile_key)

    @contextmanager
    def _recorded(
        self,
        cursor: Any,
        cart: LockedCart,
        new: LockedCart,
        operation: str,
        was: Mapping[str, Any],
        now: Mapping[str, Any],
        placed: PlacedItem | None = None,
    ) -> Iterator[Changed]:
        """Send the block's statements, and with them the cart and the record of its change.

        What is yielded has the cart's JSON once the block has ended. The record of the change that
        is too old to be kept is deleted.
        """
        author = self.author or Author.shell()
        keys = {"cart_id": cart.id, "profile_key": cart.profile_key}
        changed = Changed(new.version, new.subtotal)
        shown = None
        with one_exchange(cursor):
            yield changed
            written = cart_statements.update_cart(self.model, cart_statements.OF_EVERY_CHANGE)
            written.run(cursor, **new._asdict())
            cart_statements.INSERT_CHANGE.run(
                cursor,
                **keys,
                version=new.version,
                at=new.modified_on,
                **author.columns,
                operation=operation,
                item_id=placed and placed.id,
                item_name=placed and placed.item.display_name,
                before=encoded(was),
                after=encoded(now),
                subtotal_before=cart.subtotal,
                subtotal_after=new.subtotal,
            )
            if new.version > MAX_CHANGES + 1:
                old = new.version - MAX_CHANGES
                cart_statements.DELETE_CHANGE.run(cursor, **keys, version=old)
            if self.returns_cart:
                shown = cursor.db.cursor()
                show = get_cart(self.model, cart_statements.KEYS, status_columns())
                show.send(shown, {"id": cart.id, **keys})
        if shown:
            [(_, text, *status)] = show.received(shown)
            changed.json = with_status(text, status, self.current_time())

    def _unchanged(self, cart: LockedCart) -> Changed:
        text = self.find(cart.id)[1] if self.returns_cart else None
        return Changed(cart.version, cart.subtotal, text)


@contextmanager
def change_transaction() -> Iterator[Any]:
    """Run the block in a transaction. Yield a cursor.

    Two changes that make the same version are an outage, so that the caller tries again. One
    server's lock makes that impossible. On Citus, a shard may move between lock and write.
    """
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            yield cursor
    except IntegrityError as error:
        if CartChange._meta.db_table in str(error):
            raise OperationalError(str(error)) from error
        raise
