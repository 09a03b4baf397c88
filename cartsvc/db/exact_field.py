from decimal import Decimal
from typing import Any

from django.db import models


class ExactField(models.Field):
    """A column for a sum of prices: four decimals and up to 28 digits, without trailing zeros.

    SQLite's own numbers keep only 15 digits. There the number is stored as text.
    """

    def db_type(self, connection: Any) -> str:
        return "text" if connection.vendor == "sqlite" else "numeric(28, 4)"

    def get_db_prep_value(self, value: Any, connection: Any, prepared: bool = False) -> Any:
        if value in (None, "") or connection.vendor != "sqlite":
            return value
        return _without_zeros(value)

    def from_db_value(self, value: Decimal | str | None, *_: object) -> Decimal | None:
        return None if value is None else Decimal(_without_zeros(value))


def _without_zeros(value: Decimal | str) -> str:
    return f"{Decimal(value).normalize():f}"
