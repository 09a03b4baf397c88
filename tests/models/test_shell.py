"""The shell's section of carts/README.md runs as it stands."""

import re
import textwrap
from pathlib import Path

import pytest
from django.conf import settings
from django.core.exceptions import ValidationError

from carts.models import Cart, CartChange

README = Path(settings.BASE_DIR) / "carts/README.md"


def test_the_lines_of_the_readme_run(db: None) -> None:
    section = README.read_text().partition("## The shell\n")[2].partition("\n## ")[0]
    code = textwrap.dedent("\n".join(re.findall("^    .*", section, re.MULTILINE)))
    before, refused, after = re.split(r"(?m)^(.*# ValidationError.*)\n", code)
    names = {"Cart": Cart}

    exec(before, names)
    cart = Cart.objects.get()
    assert eval("pizza.value", names) == eval("32.25")
    with pytest.raises(ValidationError):
        exec(refused, names)
    assert (cart.version, cart.items.get().quantity) == (3, 3)
    kept: list[str] = []
    exec(
        after.replace("Cart.objects.delete_cart", "keep(); Cart.objects.delete_cart"),
        names
        | {"keep": lambda: kept.extend(CartChange.objects.values_list("operation", flat=True))},
    )

    changed = ["Add Item", "Change Item", "Update Item", "Remove Item"]
    assert kept == [*changed, "Close Cart", "Reopen Cart"]
    assert not Cart.objects.exists()
