"""What callers wrote, in isolates of its own: an Arabic text turns nothing beside it around."""

import re
from typing import Any

from django import template
from django.utils.html import conditional_escape, escape, format_html
from django.utils.safestring import SafeData, SafeString, mark_safe

register = template.Library()

# Browsers let these reach out of an isolate. Nobody sees them, and a text reads well without them.
# At the line separators they begin no new line.
CONTROLS = dict.fromkeys((*range(0x202A, 0x202F), *range(0x2066, 0x206A)))
CONTROLS |= dict.fromkeys((0x2028, 0x2029), "\n")

# The values in a line such as `name “a” → “b”`, of an item and of an option.
VALUES = re.compile(
    r"(?<=“).*?(?=”)|(?<=[0-9] × ).+?(?=, [0-9])|(?<=[+−] option ).+?(?=, [0-9]|; |$)"
    r"|(?<=\+ )(?!option ).+?(?=, [0-9]|; |$)",
    re.DOTALL,
)


@register.filter
def isolated(text: Any) -> SafeString:
    """Return the text as an isolate."""
    return mark_safe(f"<bdi>{escape(str(text).translate(CONTROLS))}</bdi>")  # noqa: S308


@register.filter
def isolated_values(line: Any) -> SafeString:
    """Return the line from left to right, with an isolate for each value in it.

    HTML of Django's stays as it is.
    """
    if isinstance(line, SafeData):
        return format_html("{}", line)
    text, end, parts = str(line).translate(CONTROLS), 0, []
    for value in VALUES.finditer(text):
        parts += [conditional_escape(text[end : value.start()]), isolated(value[0])]
        end = value.end()
    rest = conditional_escape(text[end:])
    return format_html('<span dir="ltr">{}{}</span>', mark_safe("".join(parts)), rest)  # noqa: S308
