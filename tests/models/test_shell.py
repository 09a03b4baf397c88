"""What `manage.py shell` does and says. Its section of carts/README.md runs as it stands."""

import re
import textwrap
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.exceptions import ValidationError

from carts.models import Cart, CartChange
from tests.support.factories import CartFactory, ItemFactory, OptionFactory, new_item
from tests.support.stored import Unchanged

pytestmark = pytest.mark.django_db

README = Path(settings.BASE_DIR) / "carts/README.md"


def test_the_lines_of_the_readme_run() -> None:
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


@pytest.fixture
def cart(db: None) -> Any:
    return CartFactory(items=[ItemFactory(options=[OptionFactory(), OptionFactory()])])


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        ("price", Decimal("1.23456"), "too_many_decimals"),
        ("quantity", 0, "min_value"),
        ("display_name", "Pizza\x1b", "control_character"),
        ("options", [OptionFactory(price=-1)], "min_value"),
    ],
)
def test_a_record_that_replaces_values_checks_them(
    unchanged: Unchanged, name: str, value: Any, code: str
) -> None:
    item = new_item()
    with pytest.raises(ValidationError) as refused:
        CartFactory(items=[item._replace(**{name: value})])
    assert [error.code for [error] in refused.value.error_dict.values()] == [code]
    assert item._replace(quantity="3") == new_item(menu_item_key=item.menu_item_key, quantity=3)
    with pytest.raises(TypeError, match="colour"):
        item._replace(colour="red")  # type: ignore[call-arg]


def test_an_item_above_a_lowered_limit_can_be_changed(cart: Any, settings: Any) -> None:
    settings.MAX_OPTIONS = settings.MAX_CART_OPTIONS = 1
    item = cart.items.get()
    item.change(quantity=5)
    assert (item.quantity, item.options.count()) == (5, 2)
