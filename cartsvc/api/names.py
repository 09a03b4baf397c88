"""Field names: snake_case in Python, camelCase on the wire."""

import re


def wire_name(name: str) -> str:
    """Return the name used on the wire: `profile_key` becomes `profileKey`."""
    return re.sub("_([a-z])", lambda found: found[1].upper(), name)
