"""The characters that no text may have, or not alone: as Unicode has them."""

import re

import jsonschema_rs

from cartsvc.characters import INVISIBLE

EVERY = [chr(code) for code in (*range(0xD800), *range(0xE000, 0x110000))]


def test_what_nobody_can_see_is_what_unicode_says() -> None:
    # Python's unicodedata does not know this property. The engine of jsonschema_rs does.
    unseen = r"\p{Default_Ignorable_Code_Point}\p{Zs}\p{Zl}\p{Zp}\u2800"
    invisible = re.compile(f"[{INVISIBLE}]")
    for pattern, wanted in ((f"^[{unseen}]*$", True), (f"^[^{unseen}]*$", False)):
        found = "".join(each for each in EVERY if bool(invisible.match(each)) is wanted)
        assert found
        assert jsonschema_rs.is_valid({"pattern": pattern}, found)
