import re
from datetime import datetime, timedelta
from typing import NamedTuple, Self
from uuid import UUID

from cartsvc.guids import EPOCH


class PageCursor(NamedTuple):
    """A place in a list that is in order of time. Its text is what callers send back."""

    at: datetime
    cart_id: UUID
    version: int = 0

    def __str__(self) -> str:
        return f"{(self.at - EPOCH) // timedelta(microseconds=1)}.{self.cart_id.hex}.{self.version}"

    @classmethod
    def parsed(cls, text: str) -> Self | None:
        if not re.fullmatch(r"[0-9]{1,16}\.[0-9a-f]{32}\.[0-9]{1,18}", text):
            return None
        microseconds, key, version = text.split(".")
        return cls(EPOCH + timedelta(microseconds=int(microseconds)), UUID(key), int(version))
