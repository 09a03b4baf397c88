"""The manager of carts: every change that can be made to them. Reads are in `reads`.

A change locks the cart's row and reads what it needs to decide, in one exchange with the database.
It decides in Python. It writes the cart, the item and the record of the change in another exchange,
and commits.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Generic, TypeVar
from uuid import UUID

from django.conf import settings
from django.db import IntegrityError, OperationalError, connection, models, transaction
from django.utils import timezone
from uuid_utils.compat import uuid7

from carts.cart_errors import CartNotFound, ItemNotFound, TooMany
from carts.models import statements
from carts.models.change import MAX_CHANGES, Author, CartChange, difference, encoded, whole
from carts.models.locked_cart import (
    IN_ALL,
    Expected,
    LockedCart,
    Totals,
    check_currencies,
)
from carts.models.reads import CartReader
from carts.models.statements import CHANGEABLE
from carts.values import Item, NewCart, PlacedItem, checked_changes
from cartsvc.db.statements import Rows, Select, one_exchange

CartT = TypeVar("CartT", bound=models.Model)


class CartManager(CartReader, Generic[CartT]):
    """Reads and writes carts: all of them, or those that `by` has narrowed them to."""

    def create_with_items(
        self,
        *,
        profile_key: UUID | str,
        items: Iterable[Item | Mapping[str, Any]] = (),
        **values: Any,
    ) -> CartT:
        """Create a cart with its items and their options (specification: Create Cart).

        `values`, and those of the `items` and their `options`, are those of `carts.values`.

        Raises:
            TypeError: a name that a cart, an item or an option does not have.
            InvalidValues: values that the specification does not allow.
            ApiError: `currency_mismatch`, `invalid_currency`, `too_many`.
        """
        cart_id: UUID = values.pop("id", None) or uuid7()
        return self.create_cart(cart_id, profile_key, NewCart(items=items, **values))

    def create_cart(self, cart_id: UUID, profile_key: UUID | str, new: NewCart) -> CartT:
        """Create a cart. See `create_with_items`."""
        sent = ((("items", position), item) for position, item in enumerate(new.items))
        check_currencies(sent, new.currency)
        items = [PlacedItem.of(uuid7(), position, item) for position, item in enumerate(new.items)]
        totals = Totals.of(items)
        if totals.option_count > settings.MAX_CART_OPTIONS:
            raise TooMany(limit=settings.MAX_CART_OPTIONS, plural=IN_ALL, field=("items",))
        author, moment = self.author or Author.shell(), self.moment or timezone.now()
        values = new._asdict()
        del values["items"]
        cart: Any = self.model(
            id=cart_id,
            profile_key=self.model._meta.get_field("profile_key").to_python(profile_key),
            created_on=moment,
            modified_on=moment,
            created_by_kind=author.kind,
            created_by_name=author.name,
            created_request_id=author.request_id,
            **values,
            **totals._asdict(),
        )
        with atomic() as cursor, one_exchange(cursor):
            statements.insert_cart(self.model).run(cursor, [cart])
            statements.INSERT_ITEMS.run(cursor, statements.item_rows(cart, items))
            statements.INSERT_OPTIONS.run(cursor, statements.option_rows(cart, items))
        cart._state.adding = False
        return cart

    def add_item(
        self, cart_id: UUID, item_id: UUID, item: Item, *, version: Expected = None
    ) -> int:
        """Add an item after the cart's last one; return the cart's version after it.

        Raises:
            ApiError: `cart_not_found`, `version_mismatch`, `currency_mismatch`,
                `invalid_currency`, `too_many`.
        """
        with atomic() as cursor:
            cart, last = self._lock(cursor, cart_id, version, statements.LAST_POSITION)
            cart.check_fit(None, item)
            added = PlacedItem.of(item_id, last[0][0] + 1 if last else 0, item)
            with one_exchange(cursor):
                statements.INSERT_ITEMS.run(cursor, statements.item_rows(cart, [added]))
                statements.INSERT_OPTIONS.run(cursor, statements.option_rows(cart, [added]))
                return self._record_item(cursor, cart, "Add Item", None, added)

    def replace_item(
        self, cart_id: UUID, item_id: UUID, item: Item, *, version: Expected = None
    ) -> int:
        """Replace an item entirely, options included (specification: Update Item).

        The item keeps its id and its position. Returns the cart's version after it.

        Raises:
            ApiError: `cart_not_found`, `item_not_found`, `version_mismatch`,
                `currency_mismatch`, `invalid_currency`, `too_many`.
        """
        with atomic() as cursor:
            cart, before = self._lock_item(cursor, cart_id, item_id, version)
            return self._write_item(cursor, cart, "Update Item", before, item)

    def change_item(
        self,
        cart_id: UUID,
        item_id: UUID,
        changes: Mapping[str, Any],
        *,
        version: Expected = None,
    ) -> int:
        """Change the named fields of an item; the others stay as they are at that moment.

        Values that equal those held change nothing. Returns the cart's version after it.

        Raises:
            TypeError: a name that an item does not have.
            InvalidValues: values that the specification does not allow.
            ApiError: as `replace_item`.
        """
        checked = checked_changes(Item, changes)
        with atomic() as cursor:
            cart, before = self._lock_item(cursor, cart_id, item_id, version)
            item = before.item._replace(**checked)
            if item == before.item:
                return cart.version
            return self._write_item(cursor, cart, "Change Item", before, item)

    def remove_item(self, cart_id: UUID, item_id: UUID, *, version: Expected = None) -> int:
        """Remove an item and its options; return the cart's version after it.

        Raises:
            ApiError: `cart_not_found`, `item_not_found`, `version_mismatch`.
        """
        with atomic() as cursor:
            cart, before = self._lock_item(cursor, cart_id, item_id, version)
            keys = {"id": item_id, "item_id": item_id, "profile_key": cart.profile_key}
            with one_exchange(cursor):
                if before.item.options:
                    statements.DELETE_OPTIONS.run(cursor, **keys)
                statements.DELETE_ITEM.run(cursor, **keys)
                return self._record_item(cursor, cart, "Remove Item", before, None)

    def change_cart(
        self, cart_id: UUID, changes: Mapping[str, Any], *, version: Expected = None
    ) -> int:
        """Change some of the fields `CHANGEABLE`. Those that are not named stay as they are.

        Values that equal those held change nothing. Returns the cart's version after it.

        Raises:
            TypeError: a field that cannot be changed.
            InvalidValues: values that the specification does not allow.
            ApiError: `cart_not_found`, `version_mismatch`.
        """
        if fixed := changes.keys() - set(CHANGEABLE):
            raise TypeError(f"A cart's {', '.join(sorted(fixed))} cannot be changed.")
        checked = checked_changes(NewCart, changes)
        with atomic() as cursor:
            look = statements.changeable(self.model)
            cart, [row] = self._lock(cursor, cart_id, version, look)
            was, now = difference(dict(zip(CHANGEABLE, row, strict=True)), checked)
            if not now:
                return cart.version
            with one_exchange(cursor):
                keys = {"id": cart.id, "profile_key": cart.profile_key}
                statements.update_cart(self.model, tuple(now)).run(cursor, **keys, **now)
                new = cart.changed([], [], self.moment or timezone.now())
                return self._record(cursor, cart, new, "Change Cart", was, now)

    def delete_cart(self, cart_id: UUID, *, version: Expected = None) -> None:
        """Delete a cart with its items and its history.

        Raises:
            ApiError: `cart_not_found`, `version_mismatch`.
        """
        with atomic() as cursor:
            cart, _ = self._lock(cursor, cart_id, version, statements.LAST_POSITION)
            keys = {"id": cart.id, "cart_id": cart.id, "profile_key": cart.profile_key}
            with one_exchange(cursor):
                statements.DELETE_OPTIONS_OF_CART.run(cursor, **keys)
                statements.DELETE_ITEMS.run(cursor, **keys)
                statements.DELETE_CHANGES.run(cursor, **keys)
                statements.delete_cart(self.model).run(cursor, **keys)

    def _lock(
        self, cursor: Any, cart_id: UUID, version: Expected, look: Select, **looked_for: Any
    ) -> tuple[LockedCart, Rows]:
        """Lock the cart until the transaction ends; return it with the rows of `look`.

        Both are sent at once. The second statement runs when the lock is held, so it sees what
        the last change has left.
        """
        keys = {**self.keys, "id": cart_id}
        if "profile_key" not in keys:
            customers = self.filter(pk=cart_id).values_list("profile_key", flat=True)
            if not (customer := customers.first()):
                raise CartNotFound
            keys["profile_key"] = customer
        lock = statements.lock(self.model, tuple(keys))
        with cursor.db.cursor() as other:
            with one_exchange(cursor):
                lock.send(cursor, keys)
                look.send(other, {**keys, "cart_id": cart_id, **looked_for})
            carts, rows = lock.received(cursor), look.received(other)
        if not carts:
            raise CartNotFound
        cart = LockedCart._make(carts[0])
        if looked_for and not rows:
            raise ItemNotFound
        cart.check_version(version)
        return cart, rows

    def _lock_item(
        self, cursor: Any, cart_id: UUID, item_id: UUID, version: Expected
    ) -> tuple[LockedCart, PlacedItem]:
        cart, rows = self._lock(cursor, cart_id, version, statements.ITEM, id=item_id)
        return cart, statements.placed_item(item_id, rows)

    def _write_item(
        self, cursor: Any, cart: LockedCart, operation: str, before: PlacedItem, item: Item
    ) -> int:
        """Write `item` in place of what was before. Return the cart's new version."""
        cart.check_fit(before, item)
        after = PlacedItem.of(before.id, before.position, item)
        keys = {"id": before.id, "item_id": before.id, "profile_key": cart.profile_key}
        with one_exchange(cursor):
            # The most frequent change is a new quantity, which leaves the options alone.
            new_options = item.options != before.item.options
            if new_options and before.item.options:
                statements.DELETE_OPTIONS.run(cursor, **keys)
            statements.UPDATE_ITEM.run(cursor, **keys, value=after.value, **item._asdict())
            if new_options:
                statements.INSERT_OPTIONS.run(cursor, statements.option_rows(cart, [after]))
            return self._record_item(cursor, cart, operation, before, after)

    def _record_item(
        self,
        cursor: Any,
        cart: LockedCart,
        operation: str,
        before: PlacedItem | None,
        after: PlacedItem | None,
    ) -> int:
        """Write the cart and the record of a change of an item. Return the cart's new version."""
        if before and after:
            was, now = difference(before.item._asdict(), after.item._asdict())
        else:
            was, now = whole(before) if before else {}, whole(after) if after else {}
        gone, come = [before] if before else [], [after] if after else []
        new = cart.changed(gone, come, self.moment or timezone.now())
        return self._record(cursor, cart, new, operation, was, now, after or before)

    def _record(
        self,
        cursor: Any,
        cart: LockedCart,
        new: LockedCart,
        operation: str,
        was: Mapping[str, Any],
        now: Mapping[str, Any],
        placed: PlacedItem | None = None,
    ) -> int:
        """Write the cart and the record of its change: what was, and what is.

        The change that is too old to be kept goes. Returns the cart's new version.
        """
        author = self.author or Author.shell()
        statements.update_cart(self.model, statements.OF_EVERY_CHANGE).run(cursor, **new._asdict())
        statements.INSERT_CHANGE.run(
            cursor,
            cart_id=cart.id,
            profile_key=cart.profile_key,
            version=new.version,
            at=new.modified_on,
            author_kind=author.kind,
            author_name=author.name,
            request_id=author.request_id,
            why=author.why,
            operation=operation,
            item_id=placed and placed.id,
            item_name=placed and placed.item.display_name,
            before=encoded(was),
            after=encoded(now),
            subtotal_before=cart.subtotal,
            subtotal_after=new.subtotal,
        )
        if new.version > MAX_CHANGES + 1:
            keys = {"cart_id": cart.id, "profile_key": cart.profile_key}
            statements.DELETE_CHANGE.run(cursor, **keys, version=new.version - MAX_CHANGES)
        return new.version


@contextmanager
def atomic() -> Iterator[Any]:
    """Run the block in a transaction. Yield a cursor.

    If another change has made this version, the database is unavailable. On one server the cart's
    lock makes that impossible. Citus lets a shard move between the lock and the write, without it.
    """
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            yield cursor
    except IntegrityError as error:
        if CartChange._meta.db_table in str(error):
            raise OperationalError(str(error)) from error
        raise
