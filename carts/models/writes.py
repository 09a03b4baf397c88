"""How a change of a cart is written: the cart, its items and the record of the change, at once."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from operator import itemgetter
from typing import Any

from django.db import IntegrityError, OperationalError, connection, transaction

from carts.models import cart_statements
from carts.models.cart_change import MAX_CHANGES, Author, CartChange, difference, encoded
from carts.models.cart_status import STATUS_COLUMNS, CartStatus, status_columns, with_status
from carts.models.item import ITEM_COLUMNS, CartItem
from carts.models.locked_cart import LockedCart
from carts.models.reads import CartReader, select_cart
from carts.models.totals import Totals, next_version
from carts.records import Item, NewCart, PlacedItem
from cartsvc.db.compiled_statements import Cursor, one_exchange
from cartsvc.db.database_errors import is_key_taken
from cartsvc.request_errors import InvalidGuid

# The most items and options, together, of a cart that a change returns. It is read under the
# cart's lock, and kept with an Idempotency-Key.
MAX_RETURNED = 250

COLUMNS_OF_EVERY_CHANGE: tuple[str, ...] = ("version", *Totals._fields, "modified_on")


@dataclass
class Changed:
    """A cart after a change: as Get Cart shows it, if the manager `returns_cart` of its size."""

    version: int
    subtotal: Decimal
    json: str | None = None
    is_change: bool = True


class CartWriter(CartReader):
    """What the changes of `CartManager` have in common."""

    returns_cart = False  # unless it is large, as JSON, read in the transaction of the change

    def _write_item(
        self,
        cursor: Cursor,
        cart: LockedCart,
        operation: str,
        before: PlacedItem,
        item: Item,
    ) -> Changed:
        after = before._replace(item=item, value=item.value)
        new = next_version(cart, [before], [after])
        values = item._asdict()
        was, now = difference(before.item._asdict(), values)
        key = {"profile_key": cart.profile_key}
        with self._recorded(cursor, cart, new, operation, was, now, after) as changed:
            # The most frequent change is a new quantity, which leaves the options alone.
            new_options = item.options != before.item.options
            if new_options and before.item.options:
                cart_statements.DELETE_OPTIONS.run(cursor, item_id=before.id, **key)
            cart_statements.UPDATE_ITEM.run(
                cursor, id=before.id, **key, value=after.value, **values
            )
            if new_options:
                cart_statements.INSERT_OPTIONS.run(cursor, option_rows([after]), cart.profile_key)
        return changed

    def _write_status(
        self, cursor: Cursor, cart: LockedCart, operation: str, status: CartStatus
    ) -> Changed:
        """Write the status unless the cart has it now."""
        was, now = difference(cart.status._asdict(), status._asdict())
        if not now:
            return self._unchanged(cart)
        new = next_version(cart, [], []).in_status(status)
        with self._recorded(cursor, cart, new, operation, was, now) as changed:
            return changed

    def _insert_items(
        self, cursor: Cursor, cart: LockedCart, placed: Collection[PlacedItem]
    ) -> None:
        items = [
            (key, position, *_columns_of(item), value) for key, position, item, value in placed
        ]
        cart_statements.INSERT_ITEMS.run(cursor, items, cart.profile_key, cart.id)
        cart_statements.INSERT_OPTIONS.run(cursor, option_rows(placed), cart.profile_key)

    def _delete_items(self, cursor: Cursor, cart: LockedCart) -> None:
        for delete in (cart_statements.DELETE_OPTIONS_OF_CART, cart_statements.DELETE_ITEMS):
            delete.run(cursor, cart_id=cart.id, profile_key=cart.profile_key)

    @contextmanager
    def _recorded(
        self,
        cursor: Cursor,
        cart: LockedCart,
        new: LockedCart,
        operation: str,
        was: Mapping[str, object],
        now: Mapping[str, object],
        placed: PlacedItem | None = None,
    ) -> Iterator[Changed]:
        """Send the block's statements, and with them the cart and the record of its change.

        What is yielded has the cart's JSON once the block has ended. The record of the change that
        is too old to be kept is deleted.
        """
        author = self.author or Author.shell()
        keys = {"cart_id": cart.id, "profile_key": new.profile_key}
        kind = Item if placed or "items" in now else NewCart
        changed = Changed(new.version, new.subtotal)
        shown = None
        with one_exchange(cursor, is_last=True):
            yield changed
            columns, status = COLUMNS_OF_EVERY_CHANGE, new.status
            # What is closed or reopened; or a checkout that has run out, and may be one again to
            # a clock that is behind.
            if status != cart.stored:
                columns, new = (*columns, *STATUS_COLUMNS), new.in_status(status)
            write = cart_statements.update_cart(self.model, columns)
            write.run(cursor, **new._asdict())
            cart_statements.INSERT_CHANGE.run(
                cursor,
                **keys,
                version=new.version,
                at=new.modified_on,
                **author.columns,
                operation=operation,
                item_id=placed and placed.id,
                item_name=placed and placed.item.display_name,
                before=encoded(kind, was),
                after=encoded(kind, now),
                subtotal_before=cart.subtotal,
                subtotal_after=new.subtotal,
            )
            if new.version > MAX_CHANGES + 1:
                old = new.version - MAX_CHANGES
                cart_statements.DELETE_CHANGE.run(cursor, **keys, version=old)
            if self._returns(new):
                shown = cursor.db.cursor()
                show = select_cart(self.model, cart_statements.CART_KEYS, status_columns())
                show.send(shown, {"id": cart.id, **keys})
        if shown:
            [(_, text, *own)] = show.received(shown)
            changed.json = with_status(text, own, cart.now)

    def _returns(self, cart: LockedCart) -> bool:
        return self.returns_cart and cart.item_count + cart.option_count <= MAX_RETURNED

    def _unchanged(self, cart: LockedCart) -> Changed:
        text = self.version_and_json(cart.id)[1] if self._returns(cart) else None
        return Changed(cart.version, cart.subtotal, text, is_change=False)


_columns_of = itemgetter(*map(Item._fields.index, ITEM_COLUMNS))


def option_rows(items: Iterable[PlacedItem]) -> list[tuple[Any, ...]]:
    return [
        (item_id, position, *option)
        for item_id, _, item, _ in items
        for position, option in enumerate(item.options)
    ]


@contextmanager
def change_transaction() -> Iterator[Any]:
    """Run the block in a transaction, with a cursor whose last exchange may commit.

    Two changes that make the same version are an outage, so that the caller tries again. One
    server's lock makes that impossible. On Citus, a shard may move between lock and write.
    """
    try:
        is_alone = transaction.get_autocommit()
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.is_alone = is_alone  # type: ignore[attr-defined]
            yield cursor
    except IntegrityError as error:
        if is_key_taken(error, CartChange):
            raise OperationalError(str(error)) from error
        if is_key_taken(error, CartItem):
            raise InvalidGuid("There is an item with this id already.", field=("id",)) from error
        raise
