"""The names of members: as they are on the wire, in Python, and in an answer."""

import re
from collections.abc import Iterable

# Of names that a caller has made up: how many an answer tells, and how many characters of each.
MAX_UNKNOWN, MAX_NAME_LENGTH = 10, 64


def shortened(name: str) -> str:
    """Return a name that a caller has made up, shortened and valid in UTF-8."""
    return name[:MAX_NAME_LENGTH].encode(errors="replace").decode()


def camel_case(name: str) -> str:
    return re.sub("_([a-z])", lambda found: found[1].upper(), name)


def snake_case(name: str) -> str:
    return re.sub("[A-Z]", lambda found: f"_{found[0].lower()}", name)


def json_pointer(place: Iterable[str | int]) -> str:
    """Return the JSON Pointer (RFC 6901) to a place, whose names are those on the wire."""
    return "".join(f"/{str(part).replace('~', '~0').replace('/', '~1')}" for part in place)
