import random
import sys
from argparse import ArgumentParser, ArgumentTypeError
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import yaml
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone
from tqdm import tqdm
from uuid_utils.compat import uuid7

from carts.models import Cart, CartItem
from carts.models.cart_change import Author
from carts.models.manager import CartManager
from carts.records import CHECKOUT, OUTCOMES, Closing, Item, Option

PARTNER = "DEMO"

# The age of the oldest carts, and the longest time that a customer takes for a change.
SPREAD, CHOOSING = timedelta(weeks=4), timedelta(minutes=20)

# Of a hundred carts, so many end as each of `OUTCOMES`. The rest stays open.
ENDS = (4, 40, 10, 46)

SAMPLES = yaml.safe_load(Path(__file__).with_name("demo_carts.yaml").read_text(encoding="utf-8"))


class Command(BaseCommand):
    help = "Fill the database with believable carts of the last four weeks, to try the desk with."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--carts", type=_number, default=500, help="how many (%(default)s)")
        parser.add_argument("--if-none", action="store_true", help="only if there are no carts")

    def handle(self, *args: Any, carts: int, if_none: bool, **options: Any) -> None:
        if if_none and Cart.objects.exists():
            self.stdout.write(
                "There are carts already, so --demo made none. To make some all the same, run:\n\n"
                f".venv/bin/python manage.py demo_carts --carts {carts}\n"
            )
            return
        if Cart.objects.exclude(partner_key=PARTNER).exists():
            raise CommandError("There are real carts in this database.")
        chance = random.Random()  # noqa: S311 (no secret depends on it)
        profiles = [uuid4() for _ in range(1 + carts // 3)]
        now = timezone.now()
        for _ in tqdm(range(carts), unit="cart", file=sys.stderr):
            _order(chance, chance.choice(profiles), now - chance.random() * SPREAD, now)
        self.stdout.write(f"{carts} carts were made, all of partner {PARTNER}.")


def _number(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise ArgumentTypeError(f"{text!r} is not a number of carts.")
    return int(text)


def _order(chance: random.Random, profile_key: UUID, created: datetime, latest: datetime) -> None:
    """Create a cart. Some of the carts are changed soon afterwards and closed, as usual."""
    menu = chance.choice(SAMPLES["menus"])
    values = {name: chance.choice(samples) for name, samples in SAMPLES["carts"].items()}

    def carts(moment: datetime) -> CartManager:
        return Cart.objects.by(Author("bearer", values["platform"], uuid4().hex)).at(moment)

    cart = carts(created).create_with_items(
        id=uuid7(nanoseconds=int(created.timestamp() * 1000) * 1_000_000),
        profile_key=profile_key,
        partner_key=PARTNER,
        restaurant_key=menu["restaurant"],
        currency=menu["currency"],
        items=[_item(chance, menu) for _ in range(chance.choice((0, 1, 1, 2, 2, 3, 4, 6)))],
        **values,
    )
    changed = min(created + chance.random() * CHOOSING, latest)
    if chance.random() < 0.3:
        carts(changed).add_item(cart.id, uuid7(), _item(chance, menu))
    item = CartItem.objects.filter(cart_id=cart.id).first()
    if item and chance.random() < 0.3:
        carts(changed).replace_item(cart.id, item.id, _item(chance, menu))
    [outcome] = chance.choices([*OUTCOMES, None], ENDS)
    if outcome:
        reference = f"{outcome[:3].upper()}-{chance.randrange(10**6):06}"
        # A checkout soon ends by itself: only one that begins now can be seen.
        closed = latest if outcome == CHECKOUT else min(changed + CHOOSING, latest)
        closing = Closing(outcome=outcome, reference=reference)
        carts(closed).close_cart(cart.id, closing)


def _item(chance: random.Random, menu: dict[str, Any]) -> Item:
    def priced(name: str, price: str) -> dict[str, Any]:
        return {"display_name": name, "currency": menu["currency"], "price": Decimal(price)}

    key, item = chance.choice(list(enumerate(menu["items"].items(), 7_000_000)))
    options = list(enumerate(menu["options"].items(), 9_000_000))
    return Item(
        **priced(*item),
        menu_key=menu["key"],
        menu_version=3,
        menu_item_key=key,
        quantity=chance.choice((1, 1, 1, 2, 2, 3)),
        special_instructions=chance.choice((None, None, *menu["instructions"])),
        options=tuple(
            Option(option_set_key=501, option_set_item_key=key, **priced(*option))
            for key, option in chance.sample(options, chance.randrange(len(options) + 1))
        ),
    )
