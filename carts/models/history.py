"""What happened to a cart: one line a change, written by the claim that begins it.

The lines stand in a column of the cart's own row, which every change updates anyway: a
record costs no statement, no row and no index, and no change can be without one.
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

# Characters that a cart keeps; the oldest records go first. About 250 changes.
KEPT = 64 * 1024

NAME_LENGTH, LABEL_LENGTH = 100, 200


@dataclass(frozen=True, slots=True)
class Author:
    """Who changes carts: the bearer of a token, a member of staff, or somebody in a shell."""

    kind: str
    name: str
    request_id: str | None = None

    @classmethod
    def shell(cls) -> Self:
        try:
            return cls("shell", getuser())
        except (KeyError, OSError):  # a container's user without a name
            return cls("shell", "")


@dataclass(frozen=True, slots=True)
class Record:
    """One change: when, by whom, what was done, to which item, and what it is since."""

    at: datetime
    author: Author
    operation: str
    item_id: UUID | None = None
    label: str = ""

    def line(self) -> str:
        fields = [
            self.at.isoformat(),
            self.author.kind,
            self.author.name[:NAME_LENGTH],
            self.author.request_id,
            self.operation,
            self.item_id and str(self.item_id),
            self.label[:LABEL_LENGTH],
        ]
        return json.dumps(fields, separators=(",", ":")) + "\n"

    @classmethod
    def parse(cls, line: str) -> Self:
        at, kind, name, request_id, operation, item_id, label = json.loads(line)
        return cls(
            datetime.fromisoformat(at),
            Author(kind, name, request_id),
            operation,
            item_id and UUID(item_id),
            label,
        )


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


def parse(history: str) -> Iterator[Record]:
    """Yield the records, oldest first; a line that the limit has cut is left out."""
    lines = history.split("\n")[:-1]
    if len(history) >= KEPT:
        lines = lines[1:]
    return map(Record.parse, lines)
