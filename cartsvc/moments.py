from datetime import datetime


def utc_text(moment: datetime | None) -> str:
    """Return a moment of UTC by RFC 3339, always with six digits of its second."""
    return f"{moment:%Y-%m-%dT%H:%M:%S.%f}Z"


def as_text(value: object) -> str:
    """Return what JSON has no type for, a moment by RFC 3339."""
    return utc_text(value) if isinstance(value, datetime) else str(value)
