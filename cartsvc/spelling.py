"""The spellings of a text: its cases, accents, composed or not, and digits of other scripts."""

import re
import unicodedata
from collections import defaultdict
from functools import cache
from itertools import chain

# Letters that Unicode does not decompose, and marks that are typed for one another.
TYPED_FOR = dict(zip("ıłøđ’‘ʼ‐‑–—", "ilod'''----", strict=True)) | {"æ": "ae", "œ": "oe"}

# Accents, joiners, direction marks and the like. A letter may have any two of them behind it.
ACCENTS = r"\u0300-\u036f"
UNSEEN = (
    rf"[{ACCENTS}\u00ad\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufe00-\ufe0f\ufeff]{{0,2}}"
)

# A longer text is found by its first letters.
MAX_LETTERS = 60


def readable(text: str) -> str:
    """Return the text composed, without marks that nobody sees, and with ASCII's digits."""
    seen = (one for one in unicodedata.normalize("NFKC", text) if unicodedata.category(one) != "Cf")
    digits = "".join(str(unicodedata.decimal(one, one)) for one in seen)
    return digits.translate(str.maketrans("،٫٬", ",.'"))


def folded(text: str) -> str:
    """Return the text as it is compared: readable, in one case and without accents."""
    bare = re.sub(f"[{ACCENTS}]", "", unicodedata.normalize("NFKD", readable(text).casefold()))
    return unicodedata.normalize("NFC", "".join(TYPED_FOR.get(one, one) for one in bare))


@cache
def _spellings() -> dict[str, str]:
    """Return the characters that are read alike, by the letter or letters they are folded to."""
    found: defaultdict[str, str] = defaultdict(str)
    for one in map(chr, chain(range(0x21, 0x3100), range(0xA640, 0xAC00), range(0xFB00, 0xFFF0))):
        if (letters := folded(one)) != one:
            found[letters] += one
    return found


@cache
def _letters() -> re.Pattern[str]:
    """Return the expression of the next letter, or of several that one is folded to."""
    several = sorted((letters for letters in _spellings() if letters[1:]), key=len, reverse=True)
    return re.compile("|".join([*map(re.escape, several), "."]), re.DOTALL)


def spelled(text: str) -> str:
    """Return a regular expression, for Python and PostgreSQL, of the text in any spelling.

    It takes the same time for each letter of what it looks through, whoever wrote that.
    """
    spellings = _spellings()

    def letter(one: str) -> str:
        ways, apart = re.escape(one) + spellings.get(one, ""), unicodedata.normalize("NFD", one)
        return (f"[{ways}]" if apart == one else f"(?:[{ways}]|{apart})") + UNSEEN

    def letters(found: re.Match[str]) -> str:
        each = "".join(map(letter, found[0]))
        return f"(?:{each}|[{spellings[found[0]]}]{UNSEEN})" if found[0][1:] else each

    return _letters().sub(letters, folded(text)[:MAX_LETTERS])


def spelled_alone(text: str) -> str:
    """Return a regular expression of a whole text that is this one, in any spelling."""
    return rf"\A{spelled(text)}\Z"
