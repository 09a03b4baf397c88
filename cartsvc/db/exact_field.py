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
        return f"{Decimal(value).normalize():f}"

    def get_db_converters(self, connection: Any) -> Any:
        return [_exact] if connection.vendor == "sqlite" else []


def _exact(value: str | None, *_: Any) -> Decimal | None:
    return None if value is None else Decimal(value)
