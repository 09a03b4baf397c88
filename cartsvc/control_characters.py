"""Characters that no text from outside may contain.

A printer, a log or a database may take them for a command: Unicode's control characters (Cc)
and lone surrogates.
"""

import re

# Character ranges for regular expressions in Python and in both databases.
LINE_BREAKERS = r"\u0000-\u001f\u007f-\u009f"
PARAGRAPH_BREAKERS = r"\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f"

UNPRINTABLE = re.compile(rf"[{LINE_BREAKERS}\ud800-\udfff]")
_in_paragraph = re.compile(rf"[{PARAGRAPH_BREAKERS}\ud800-\udfff]")


def control_character(text: str, *, multiline: bool = False) -> str | None:
    """Return the first one in a text, or None. `multiline` allows tab, line feed and return."""
    if text.isprintable():  # the fast path: it is false for every Cc and Cs
        return None
    found = (_in_paragraph if multiline else UNPRINTABLE).search(text)
    return found.group() if found else None
