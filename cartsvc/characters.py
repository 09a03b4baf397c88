"""Characters that no text may contain: a printer, a log or a database takes them for commands.

They are Unicode's control characters (Cc) and lone surrogates. A text of one line has no U+2028 and
U+2029 either, and one of several lines may have tab, CR and LF.
"""

import re

# Character ranges for regular expressions in Python and in both databases.
_CONTROLS = r"\u0000-\u001f\u007f-\u009f"
NOT_IN_LINE = _CONTROLS + r"\u2028\u2029"
NOT_IN_PARAGRAPH = r"\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f"

# What nobody can see beside the controls: white space, Default_Ignorable_Code_Point of Unicode 17
# (DerivedCoreProperties.txt) and the Braille blank. \s differs between the engines.
INVISIBLE = (
    r" \u00a0\u00ad\u034f\u061c\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f\u2000-\u200f"
    r"\u2028-\u202f\u205f-\u206f\u2800\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8"
    r"\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
VISIBLE = re.compile(f"[^{INVISIBLE}]")

UNPRINTABLE = re.compile(rf"[{_CONTROLS}\ud800-\udfff]")
FORBIDDEN_IN_LINE = re.compile(rf"[{NOT_IN_LINE}\ud800-\udfff]")
FORBIDDEN_IN_PARAGRAPH = re.compile(rf"[{NOT_IN_PARAGRAPH}\ud800-\udfff]")
