"""The error catalogue of carts/README.md, generated from the declared errors.

python -m tests.support.error_catalogue    writes it
"""

import os
from importlib import import_module

from tests.support.programs import ROOT

BEGIN, END = "<!-- error catalogue: generated -->\n", "<!-- end of error catalogue -->"
README = ROOT / "carts/README.md"


def catalogue() -> str:
    """Return the table of all declared errors, sorted by status and code."""
    import_module("carts.cart_errors")
    errors = import_module("cartsvc.request_errors").API_ERRORS.values()
    rows = sorted(
        (error.status, error.code, error.meaning, error.remedy, error.retry) for error in errors
    )
    lines = ["| Code | Status | Meaning | What to do |", "|---|---|---|---|"]
    for status, code, meaning, remedy, retry in rows:
        again = " The same request may succeed later." if retry else ""
        lines.append(f"| `{code}` | {status} | {meaning} | {remedy}{again} |")
    return "\n".join(lines) + "\n"


def renewed(text: str) -> str:
    """Return the text with its catalogue replaced by the current one."""
    before, rest = text.split(BEGIN)
    return before + BEGIN + "\n" + catalogue() + "\n" + END + rest.split(END)[1]


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "cartsvc.settings")
    README.write_text(renewed(README.read_text()))
