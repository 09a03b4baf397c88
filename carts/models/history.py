"""The history of a cart: one line for each change, written by the claim that begins it.

The lines are in columns of the cart's own row, which every change updates anyway. So a record
needs no statement, row or index of its own, and no change can go unrecorded.

The first line has its own column and is kept. Of the others only the latest are kept, because
PostgreSQL rewrites the whole row with every change.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from getpass import getuser
from typing import Self
from uuid import UUID

from django.db.models import Expression, F, Func, TextField
from django.db.models.functions import Right

# Characters of the latest records that a cart keeps: about fifteen changes.
KEPT = 2_600

# Limits in bytes of UTF-8, so that records have about the same size in every script.
NAME_BYTES, LABEL_BYTES = 80, 140


@dataclass(frozen=True, slots=True)
class Author:
    """The author of a change.

    `kind` is "bearer", "staff" or "shell". `name` is the token's `sub`, the account's name or
    the operating system's user.
    """

    kind: str
    name: str
    request_id: str | None = None

    @classmethod
    def shell(cls) -> Self:
        """Return the operating system's user as the author."""
        try:
            return cls("shell", getuser())
        except (KeyError, OSError):  # the user has no name, as in a container
            return cls("shell", "")


@dataclass(frozen=True, slots=True)
class Record:
    """One change to a cart: its time, author, operation, and item if it changed one.

    `label` describes the item after the change. `version` is the version of the cart that the
    change made, and 0 before the record is written.
    """

    at: datetime
    author: Author
    operation: str
    item_id: UUID | None = None
    label: str = ""
    version: int = 0

    def line(self) -> str:
        """Return the record as one line of JSON."""
        fields = [
            self.at.isoformat(),
            self.author.kind,
            _cut(self.author.name, NAME_BYTES),
            self.author.request_id,
            self.operation,
            self.item_id and str(self.item_id),
            _cut(self.label, LABEL_BYTES),
        ]
        return _encode(fields) + "\n"

    @classmethod
    def parse(cls, line: str, version: int) -> Self:
        """Return the record in `line`, which the change to this version has written."""
        at, kind, name, request_id, operation, item_id, label = json.loads(line)
        return cls(
            datetime.fromisoformat(at),
            Author(kind, name, request_id),
            operation,
            item_id and UUID(item_id),
            label,
            version,
        )


_encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode


def _cut(text: str, limit: int) -> str:
    """Return as much of the start of the text as fits into `limit` bytes of UTF-8."""
    return text.encode(errors="replace")[:limit].decode(errors="ignore")


def appended(line: Expression) -> Expression:
    """Return the expression that appends `line` to the history and drops its oldest part."""
    # Django's Concat would guard both sides against null, which neither can be.
    longer = Func(
        F("history"),
        line,
        template="%(expressions)s",
        arg_joiner=" || ",
        output_field=TextField(),
    )
    return Right(longer, KEPT)


def parse(creation: str, history: str, version: int) -> Iterator[Record]:
    """Yield the records in a cart's `creation` and `history` columns, oldest first.

    `version` is the cart's current version. A line that was cut at the limit is left out.
    """
    lines = history.split("\n")[:-1]
    if len(history) >= KEPT:
        lines = lines[1:]
    if creation:
        yield Record.parse(creation, 1)
    yield from map(Record.parse, lines, range(version - len(lines) + 1, version + 1))
