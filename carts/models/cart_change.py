"""The changes of a cart: who changed what and when, what was and what is.

A change is recorded in the transaction that makes it. A creation has no record: who created a
cart, when and by which request stand in the cart's row.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from getpass import getuser
from operator import itemgetter
from typing import Any, Self
from uuid import UUID

import simplejson
from django.db import models
from django.db.models.functions import Length
from django.utils.functional import cached_property

from carts.models.save_guard import GuardedModel
from carts.records import Item, NewCart, PlacedItem
from carts.value_types import Record, Values, read_values, stored_record, types_of, written_values
from cartsvc.characters import UNPRINTABLE
from cartsvc.db.exact_field import ExactField

# The latest changes of a cart that are kept.
MAX_CHANGES = 100

# Characters of changes that a page decodes, unless a single one has more.
MAX_DECODED = 4 * 2**20

NAME_LENGTH, REQUEST_ID_LENGTH, WHY_LENGTH = 80, 64, 200


# JSON as text, in its order and exactly; and back, with prices as int or Decimal.
# Both options for tuples are off: they cost a look at every value.
_encode = simplejson.JSONEncoder(
    ensure_ascii=False,
    separators=(",", ":"),
    use_decimal=True,
    tuple_as_array=False,
    namedtuple_as_object=False,
    default=datetime.isoformat,  # of when a cart was closed
).encode
decoded = simplejson.JSONDecoder(parse_float=Decimal).decode


def encoded(record: Record, values: Mapping[str, Any]) -> str:
    """Return what a change holds of a record's values, or of `items` by their ids, as its text."""
    if "items" in values:
        items = values["items"].items()
        return _encode({"items": {key: written_values(record, one) for key, one in items}})
    return _encode(written_values(record, values))


@dataclass(frozen=True, slots=True)
class Author:
    """The author of a change: a "bearer", "staff" or a "shell", with the reason that staff give."""

    kind: str
    name: str
    request_id: str | None = None
    why: str | None = None

    @classmethod
    def shell(cls) -> Self:
        try:
            # The operating system's names may hold any bytes.
            return cls("shell", UNPRINTABLE.sub("\ufffd", getuser())[:NAME_LENGTH])
        except (KeyError, OSError):  # the user has no name, as in a container
            return cls("shell", "")

    @property
    def columns(self) -> dict[str, str | None]:
        """The author as a record of a change, or of a deletion, keeps it."""
        return {
            "author_kind": self.kind,
            "author_name": self.name,
            "request_id": self.request_id,
            "why": self.why,
        }


class AuthoredModel(GuardedModel):
    """A row that says who made the change of which it tells."""

    author_kind = models.CharField(max_length=6)
    author_name = models.CharField(max_length=NAME_LENGTH)
    request_id = models.CharField(max_length=REQUEST_ID_LENGTH, null=True)
    why: Any = None

    class Meta:
        abstract = True

    @property
    def author(self) -> Author:
        return Author(self.author_kind, self.author_name, self.request_id, self.why)


class CartChange(AuthoredModel):
    """One change of a cart, known by the version of the cart that it made.

    `item_name` is the item's name after the change, or before its removal.

    `before` and `after` are JSON objects of the item's fields that differ, options included, with
    the names of the model. An item that came or went stands there whole, with its `position`. Of
    an operation on several items they hold such an object for each of these, by its id, in
    `items`. Of an operation on the cart itself they hold the cart's fields that differ.
    """

    pk = models.CompositePrimaryKey("cart_id", "version")
    cart = models.ForeignKey(
        "carts.Cart",
        on_delete=models.CASCADE,
        related_name="changes",
        db_index=False,  # the primary key's index begins with it
    )
    profile_key = models.UUIDField()
    version = models.PositiveBigIntegerField()
    at = models.DateTimeField()
    why = models.CharField(max_length=WHY_LENGTH, null=True)
    operation = models.CharField(max_length=20)
    item_id = models.UUIDField(null=True)
    item_name = models.CharField(max_length=types_of(Item)["display_name"].max_length, null=True)
    before = models.TextField()
    after = models.TextField()
    subtotal_before = ExactField()
    subtotal_after = ExactField()

    class Meta(GuardedModel.Meta):
        ordering = ["version"]
        # A record is never changed, so this costs its insertion and nothing else.
        indexes = [models.Index(fields=["at"], name="carts_cartchange_at")]

    def __str__(self) -> str:
        return f"{self.operation} (version {self.version})"

    @cached_property
    def old(self) -> Values:
        """What was: the fields in `before`, as an `Item` or a cart holds them."""
        return self._fields(self.before)

    @cached_property
    def new(self) -> Values:
        """What is since: the fields in `after`, as an `Item` or a cart holds them."""
        return self._fields(self.after)

    @cached_property
    def changed_items(self) -> dict[UUID, tuple[Values, Values]]:
        """Each item that came, went or differs: what was, and what is since."""
        if self.item_id:
            return {self.item_id: (self.old, self.new)}
        if "items" not in self.new:
            return {}
        olds, news = self.old["items"], self.new["items"]
        return {UUID(key): (olds.get(key, {}), news.get(key, {})) for key in {**olds, **news}}

    def _fields(self, text: str) -> Values:
        members = decoded(text)
        if "items" in members:
            return {"items": {key: read_values(Item, one) for key, one in members["items"].items()}}
        return read_values(Item if self.item_id else NewCart, members)


def recorded_item(placed: PlacedItem) -> Values:
    """Return what a record holds of an item that came or went."""
    return {"position": placed.position, **placed.item._asdict()}


def newest_decoded(changes: models.QuerySet[CartChange]) -> models.QuerySet[CartChange]:
    """Return the changes that a page decodes, newest first."""
    oldest = decoded_length = 0
    lengths = Length("before") + Length("after")
    for version, length in changes.order_by("-version").values_list("version", lengths):
        decoded_length += length
        if oldest and decoded_length > MAX_DECODED:
            break
        oldest = version
    return changes.filter(version__gte=oldest).reverse()


# What two items of the same dish have in common.
_dish = itemgetter("menu_key", "menu_item_key")


def undo(
    items: Mapping[UUID, PlacedItem],
    fields: Mapping[str, object],
    changes: Iterable[CartChange],
    versions: Set[int] | None = None,
) -> tuple[dict[UUID, PlacedItem], dict[str, object], list[CartChange]]:
    """Return the items, in their order, and the cart's fields as they were before these changes.

    They are undone one after another. `changes` come newest first, without a gap. If `versions` are
    given, only the changes that made these are undone, but for what the others have written since.
    An item that these have changed stays, and a dish that they have added again does not come
    twice. Those that were in the way are returned, too.
    """
    found, texts = dict(items), dict(fields)
    written = defaultdict[Any, dict[str, CartChange]](dict)
    dishes, in_the_way = dict[object, CartChange](), dict[int, CartChange]()
    for change in changes:
        stays = versions is not None and change.version not in versions
        parts: dict[Any, Any] = change.changed_items or {None: (change.old, change.new)}
        parts = {key: pair for key, pair in parts.items() if any(pair)}  # it may change nothing
        came = {_dish(new) for key, (old, new) in parts.items() if not (old or written[key])}
        # What came is looked at before what went: it may be the same dish.
        for key, (old, new) in reversed(parts.items()):
            names = {one for one in {**old, **new} if old.get(one, ...) != new.get(one, ...)}
            later, is_same = written[key], old.keys() == new.keys()
            # A position shifts with the items before it.
            since = [later[name] for name in names & later.keys() - {"position"}]
            if not old and (stays or since):
                dishes.setdefault(_dish(new), change if stays else since[0])
            if stays:
                later |= dict.fromkeys(names - later.keys(), change)
                continue
            if not new and _dish(old) not in came and (again := dishes.get(_dish(old))):
                since.append(again)
            if not key:
                texts |= {name: old[name] for name in texts.keys() & names - later.keys()}
            elif is_same and key in found:
                values = {name: old[name] for name in names - later.keys()}
                found[key] = _placed(key, {**recorded_item(found[key]), **values})
            elif not (is_same or since):
                found.pop(key, None)
                if old:
                    found[key] = _placed(key, old)
            in_the_way |= {one.version: one for one in since}
    in_order = dict(sorted(found.items(), key=lambda one: one[1].position))
    return in_order, texts, [in_the_way[version] for version in sorted(in_the_way)]


def _placed(item_id: UUID, fields: Values) -> PlacedItem:
    item = stored_record(Item, fields)
    return PlacedItem(item_id, fields["position"], item, item.value)


def item_differences(
    before: Iterable[PlacedItem], after: Iterable[PlacedItem]
) -> tuple[Values, Values]:
    """Return what a record holds of several items: as they were, and as they are."""
    old: Values = {}
    new: Values = {}
    added = {placed.id: placed for placed in after}
    for earlier in before:
        key, later = str(earlier.id), added.pop(earlier.id, None)
        if later is None:
            old[key] = recorded_item(earlier)
        elif earlier != later:
            differs = difference(recorded_item(earlier), recorded_item(later))
            # The name says which item it is.
            old[key], new[key] = (
                {"display_name": placed.item.display_name, **fields}
                for placed, fields in zip((earlier, later), differs, strict=True)
            )
    for item_id, placed in added.items():
        new[str(item_id)] = recorded_item(placed)
    return {"items": old}, {"items": new}


def difference(old: Mapping[str, object], new: Mapping[str, object]) -> tuple[Values, Values]:
    """Return the values of `new` that differ, as they were and as they are."""
    names = [name for name, value in new.items() if old[name] != value]
    return {name: old[name] for name in names}, {name: new[name] for name in names}
