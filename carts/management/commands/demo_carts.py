from argparse import ArgumentParser
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import TypeVar
from uuid import UUID, uuid4

import yaml
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone
from uuid_utils.compat import uuid7

from carts.models import Cart
from carts.models.cart_change import Author
from carts.records import ABANDONED, CHECKOUT, ORDERED, Closing, Item

PARTNER = "DEMO"
DEMO_CARTS, CUSTOMERS = 120, 35

# The age of the oldest cart, and the time from the creation of a cart until it is closed.
SPREAD, CHOOSING = timedelta(weeks=4), timedelta(minutes=20)

# How carts end, and with how many items they begin, from the newest on. A checkout soon ends by
# itself, so only the first one lasts.
ENDS = (CHECKOUT, ORDERED, None, ORDERED, ABANDONED, None, ORDERED, None, ORDERED, None, ORDERED)
SIZES = (2, 1, 3, 0, 1, 6, 2)

SAMPLES = yaml.safe_load(Path(__file__).with_name("demo_carts.yaml").read_text(encoding="utf-8"))

T = TypeVar("T")


class Command(BaseCommand):
    help = "Fill the database with believable carts of the last four weeks, to try the desk with."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--if-none", action="store_true", help="only if there are no carts")

    def handle(self, *, if_none: bool, **options: object) -> None:
        if if_none and Cart.objects.exists():
            self.stdout.write(
                "There are carts already, so --demo made none. To make some all the same, run:\n\n"
                ".venv/bin/python manage.py demo_carts\n"
            )
            return
        if Cart.objects.exclude(partner_key=PARTNER).exists():
            raise CommandError("There are real carts in this database.")
        newest = timezone.now() - CHOOSING
        customers = [uuid4() for _ in range(CUSTOMERS)]
        for number in range(DEMO_CARTS):
            create_sample(number, pick(customers, number), newest - SPREAD * number / DEMO_CARTS)
        self.stdout.write(f"{DEMO_CARTS} carts were made, all of partner {PARTNER}.")


def pick(samples: Sequence[T], number: int) -> T:
    return samples[number % len(samples)]


def create_sample(number: int, customer: UUID, created: datetime) -> None:
    """Create a cart. Some of the carts are changed soon afterwards and closed, as usual."""
    menu = pick(SAMPLES["menus"], number)
    first = number // len(SAMPLES["menus"])
    items = [pick(menu["items"], first + position) for position in range(7)]
    values = {name: pick(samples, number) for name, samples in SAMPLES["carts"].items()}
    carts = Cart.objects.by(Author("bearer", values["platform"], uuid4().hex))
    cart = carts.at(created).create_with_items(
        id=uuid7(nanoseconds=int(created.timestamp() * 1000) * 1_000_000),
        profile_key=customer,
        partner_key=PARTNER,
        restaurant_key=menu["restaurant_key"],
        currency=menu["currency"],
        items=items[: pick(SIZES, number)],
        **values,
    )
    changing = carts.at(created + CHOOSING / 2)
    if number % 3 == 0:
        changing.add_item(cart.id, uuid7(), Item(**items[-1]))
    item = cart.items.first()
    if item and number % 5 == 0:
        changing.change_item(cart.id, item.id, {"quantity": item.quantity + 1})
    if outcome := pick(ENDS, number):
        closing = Closing(outcome=outcome, reference=f"{outcome[:3].upper()}-{48_000 - number}")
        carts.at(created + CHOOSING).close_cart(cart.id, closing)
