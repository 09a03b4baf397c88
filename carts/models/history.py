"""What happened to a cart: one line a change, written by the claim that begins it.

The lines stand in columns of the cart's own row, which every change updates anyway: a
record costs no statement, no row and no index, and no change can be without one. The first
line has a column of its own and stays. Of the others the last ones are kept, because
PostgreSQL writes the whole row anew with every change.
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

# Characters of the last records that a cart keeps: about a dozen changes.
KEPT = 2_200

# Bytes in UTF-8, so that no script of the world makes a record much longer than another.
NAME_BYTES, LABEL_BYTES = 80, 140


@dataclass(frozen=True, slots=True)
class Author:
    """Who changes carts: the bearer of a token, a member of staff, or somebody in a shell."""

    kind: str
    name: str
    request_id: str | None = None

    @classmethod
    def shell(cls) -> Self:
        """Return the user of the operating system."""
        try:
            return cls("shell", getuser())
        except (KeyError, OSError):  # a container's user without a name
            return cls("shell", "")


@dataclass(frozen=True, slots=True)
class Record:
    """One change: when, by whom, what was done, to which item, and what it is since.

    `version` is the one that the change made of the cart; 0 before it is written.
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
        """Return the record of the line that the change to this version has left."""
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
    """Return as much of the beginning as fits into so many bytes of UTF-8."""
    return text.encode(errors="replace")[:limit].decode(errors="ignore")


def appended(line: Expression) -> Expression:
    """Return the expression for a history with `line` at its end."""
    # Concat would guard both sides against null; neither ever is.
    longer = Func(
        F("history"),
        line,
        template="%(expressions)s",
        arg_joiner=" || ",
        output_field=TextField(),
    )
    return Right(longer, KEPT)


def parse(creation: str, history: str, version: int) -> Iterator[Record]:
    """Yield the records of a cart of this version, oldest first.

    A line that the limit has cut is left out.
    """
    lines = history.split("\n")[:-1]
    if len(history) >= KEPT:
        lines = lines[1:]
    if creation:
        yield Record.parse(creation, 1)
    yield from map(Record.parse, lines, range(version - len(lines) + 1, version + 1))
