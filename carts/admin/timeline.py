"""The history of a cart as the desk shows it: newest first, with the old and new values."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.contrib.admin.models import LogEntry
from django.contrib.admin.options import get_content_type_for_model

from carts.models import Cart
from carts.models.history import Record
from cartsvc.api.texts import UNPRINTABLE

if TYPE_CHECKING:
    from uuid import UUID

AUTHORS = {"bearer": "API", "staff": "Staff", "shell": "Command line"}

# A log entry of the desk begins with the version of the cart that the change made.
LOG_MESSAGE = re.compile(r"Version (\d+)\. (.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Event:
    """A record of the history, as the page shows it.

    `before` is the item's previous label, if it changed. `details` is the text that the desk
    logged about the change. `missing` is the number of changes just before it whose records
    are no longer kept.
    """

    record: Record
    before: str = ""
    details: str = ""
    missing: int = 0

    @property
    def version(self) -> int:
        """The version of the cart that the change made."""
        return self.record.version

    @property
    def by(self) -> str:
        """The channel of the change: the API, staff or the command line."""
        return AUTHORS.get(self.record.author.kind, self.record.author.kind)

    @property
    def name(self) -> str:
        """The author's name, with unprintable characters replaced."""
        # Accounts on the machine may have any name.
        return UNPRINTABLE.sub("\ufffd", self.record.author.name)


def events(cart: Cart) -> list[Event]:
    """Return the cart's history, newest first, with the details of changes by staff."""
    records = cart.records()
    details = _details(cart) if any(r.author.kind == "staff" for r in records) else {}
    return list(_told(records, details))[::-1]


def log_message(version: int, text: str) -> str:
    """Return the message that the desk logs for a change which made this version."""
    return f"Version {version}. {text}"


def _told(records: list[Record], details: dict[int, str]) -> Iterator[Event]:
    labels: dict[UUID, str] = {}
    last = 0
    for record in records:
        missing, last = record.version - last - 1, record.version
        before = ""
        if record.item_id:
            before = labels.get(record.item_id, "")
            labels[record.item_id] = record.label
        # The label of a removal leaves the options out, which is not a change.
        if before == record.label or record.operation == "Remove Item":
            before = ""
        yield Event(record, before, details.get(record.version, ""), missing)


def _details(cart: Cart) -> dict[int, str]:
    entries: Iterable[str] = LogEntry.objects.filter(
        content_type=get_content_type_for_model(cart), object_id=str(cart.pk)
    ).values_list("change_message", flat=True)
    found = (LOG_MESSAGE.fullmatch(message) for message in entries)
    return {int(match[1]): match[2] for match in found if match}
