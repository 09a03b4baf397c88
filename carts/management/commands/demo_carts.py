from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import yaml
from django.core.management.base import BaseCommand
from django.utils import timezone
from uuid_utils.compat import uuid7

from carts.models import Cart
from carts.models.cart_change import Author
from carts.records import ABANDONED, CHECKOUT, ORDERED, Closing, Item, NewCart

DEMO_CARTS, CUSTOMERS = 120, 35

# The age of the oldest cart, and the time from the creation of a cart until it is closed.
SPREAD, CHOOSING = timedelta(weeks=4), timedelta(minutes=20)

# How carts end, and with how many items they begin, from the newest on. A checkout soon ends by
# itself, so only the first one lasts.
ENDS = (CHECKOUT, ORDERED, None, ORDERED, ABANDONED, None, ORDERED, None, ORDERED, None, ORDERED)
SIZES = (2, 1, 3, 0, 1, 6, 2)

SAMPLES = yaml.safe_load(Path(__file__).with_name("demo_carts.yaml").read_text(encoding="utf-8"))


class Command(BaseCommand):
    help = "Fill an empty database with believable carts of the last four weeks, to try the desk."

    def handle(self, **options: object) -> None:
        if Cart.objects.exists():
            self.stdout.write("There are carts already, so no others were made.")
            return
        newest = timezone.now() - CHOOSING
        customers = [uuid4() for _ in range(CUSTOMERS)]
        for number in range(DEMO_CARTS):
            create_sample(number, pick(customers, number), newest - SPREAD * number / DEMO_CARTS)
        self.stdout.write(f"{DEMO_CARTS} carts were made, all of partner DEMO.")


def pick(samples: Sequence[Any], number: int) -> Any:
    return samples[number % len(samples)]


def create_sample(number: int, customer: UUID, created: datetime) -> None:
    """Create a cart. Some of the carts are changed soon afterwards and closed, as usual."""
    menu = pick(SAMPLES["menus"], number)
    first = number // len(SAMPLES["menus"])
    picked = (pick(menu["items"], first + position) for position in range(pick(SIZES, number)))
    values = {name: pick(samples, number) for name, samples in SAMPLES["carts"].items()}
    carts = Cart.objects.by(Author("bearer", values["platform"], uuid4().hex))
    values |= {"restaurant_key": menu["restaurant_key"], "currency": menu["currency"]}
    cart_id = uuid7(nanoseconds=int(created.timestamp() * 1000) * 1_000_000)
    items = tuple(Item(**one) for one in picked)
    new = NewCart(partner_key="DEMO", items=items, **values)
    carts.dated(created).create_cart(cart_id, customer, new)
    changing = carts.dated(created + CHOOSING / 2)
    if number % 3 == 0:
        changing.add_item(cart_id, uuid7(), Item(**pick(menu["items"], number)))
    if number % 5 == 0 and (item := carts.get(pk=cart_id).items.first()):
        changing.change_item(cart_id, item.id, {"quantity": item.quantity + 1})
    if items and (outcome := pick(ENDS, number)):
        closing = Closing(outcome=outcome, reference=f"{outcome[:3].upper()}-{48_000 - number}")
        carts.dated(created + CHOOSING).close_cart(cart_id, closing)
