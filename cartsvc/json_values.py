"""Values as the API's answers write them in JSON."""

import json
from datetime import datetime
from decimal import Decimal


def rfc3339(moment: datetime | None) -> str:
    """Return a time in UTC by RFC 3339, always with six digits of its second."""
    return f"{moment:%Y-%m-%dT%H:%M:%S.%f}Z"


def json_value(value: object) -> str | float:
    """Return what stands for a value that JSON has no type for: a time, a price, a GUID."""
    match value:
        case datetime():
            return rfc3339(value)
        case Decimal():
            return float(value)
    return str(value)


compact_json = json.JSONEncoder(
    ensure_ascii=False, separators=(",", ":"), default=json_value
).encode
