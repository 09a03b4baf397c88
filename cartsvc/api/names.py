"""Names: snake_case inside, camelCase on the wire."""

import re


def wire_name(name: str) -> str:
    """Return the name as the wire has it: `profile_key` is `profileKey`."""
    return re.sub("_([a-z])", lambda found: found[1].upper(), name)
