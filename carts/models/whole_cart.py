"""Changes of a whole cart: of its own fields, its status and its customer, and its deletion."""

from collections.abc import Mapping
from uuid import UUID

from carts.changeable_fields import CHANGEABLE_CART_FIELDS
from carts.models import cart_statements
from carts.models.cart_change import Author
from carts.models.closing import OPEN, CartStatus
from carts.models.deleted_cart import KEPT_OF_DELETED
from carts.models.locked_cart import Expected, fields_of_cart, lock_cart, lock_open_cart
from carts.models.totals import next_version
from carts.models.writes import CartWriter, Changed, change_transaction
from carts.records import Closing, NewCart, Reopening
from carts.validation import checked_changes
from cartsvc.db.compiled_statements import last_exchange


class WholeCartWriter(CartWriter):
    """See `CartManager`."""

    def change_cart(
        self, cart_id: UUID, changes: Mapping[str, object], *, version: Expected = None
    ) -> Changed:
        """Change some of `CHANGEABLE_CART_FIELDS`. Those that are not named stay as they are.

        Values that equal those held change nothing. Another field is a TypeError.
        """
        if fixed := changes.keys() - set(CHANGEABLE_CART_FIELDS):
            named, taken = ", ".join(sorted(fixed)), ", ".join(CHANGEABLE_CART_FIELDS)
            raise TypeError(f"A change of a cart takes no {named}, only {taken}.")
        checked = checked_changes(NewCart, changes)
        with change_transaction() as cursor:
            look = fields_of_cart(self.model, CHANGEABLE_CART_FIELDS)
            cart, [[row]] = lock_open_cart(self, cursor, cart_id, version, look)
            before = dict(zip(CHANGEABLE_CART_FIELDS, row, strict=True))
            return self._write_cart(cursor, cart, "Change Cart", before, checked)

    def close_cart(self, cart_id: UUID, closing: Closing, *, version: Expected = None) -> Changed:
        """Close a cart. To close it again in the same way changes nothing."""
        with change_transaction() as cursor:
            cart, _ = lock_cart(self, cursor, cart_id)
            new = cart.status.after(closing, cart.now)
            if version is not None:
                cart.check_version(version)
            return self._write_status(cursor, cart, "Close Cart", new)

    def reopen_cart(
        self, cart_id: UUID, reopening: Reopening, *, version: Expected = None
    ) -> Changed:
        """Open a closed cart. Of an open one, this changes nothing."""
        with change_transaction() as cursor:
            cart, _ = lock_cart(self, cursor, cart_id)
            cart.status.check_opens(reopening)
            if version is not None:
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
            with last_exchange(cursor):
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
