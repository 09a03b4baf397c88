"""Names of members: snake_case in Python, camelCase on the wire."""

import re


def camel_case(name: str) -> str:
    """Return the name on the wire: `profile_key` becomes `profileKey`."""
    return re.sub("_([a-z])", lambda found: found[1].upper(), name)


def snake_case(name: str) -> str:
    """Return the name in Python: `profileKey` becomes `profile_key`."""
    return re.sub("[A-Z]", lambda found: f"_{found[0].lower()}", name)
