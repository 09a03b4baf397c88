"""Time what a hundred of the largest lawful carts cost: lists, Get Cart and the desk's pages.

python -m tests.bench.largest                              # on a private PostgreSQL cluster
DATABASE_URL=sqlite:///… python -m tests.bench.largest     # on a migrated database; rolled back

A cart has 500 items with 10 options each, and every text is as long as it may be, of
characters of four bytes. The exit status is the number of answers above their limit.
"""

import logging
import os
import statistics
import sys
import time
import uuid
from contextlib import ExitStack
from typing import Any

import django
from django.conf import settings
from django.db import transaction
from django.test import Client

from tests.bench import servers
from tests.support.clusters import private_cluster

CARTS, ITEMS, OPTIONS = 100, 500, 10
REPEATS = 5
LIST, PAGE, CART = 0.05, 0.3, 0.5  # seconds
DESK = "/admin/carts/cart/"


def largest(profile: uuid.UUID) -> Any:
    """Create a cart that holds as much as it may."""
    from carts import limits  # noqa: PLC0415 (Django is set up by now)
    from tests.support.factories import CartFactory, ItemFactory, OptionFactory  # noqa: PLC0415

    text = {name: "😀" * length for name, length in limits.MAX_LENGTHS.items()}
    price, key = limits.PRICE_MAX, limits.INT64_MAX
    named = {"display_name": text["display_name"], "price": price}
    option = OptionFactory(**named, option_set_key=key, option_set_item_key=key)
    item = ItemFactory(
        **named,
        menu_key=text["menu_key"],
        menu_version=limits.INT32_MAX,
        menu_item_key=key,
        quantity=limits.QUANTITY_MAX,
        special_instructions=text["special_instructions"],
        options=[option] * OPTIONS,
    )
    texts = ("platform", "ordering_channel", "fulfilment_channel", "note", "special_instructions")
    return CartFactory(
        profile_key=profile, items=[item] * ITEMS, **{name: text[name] for name in texts}
    )


def timed(client: Any, path: str) -> tuple[float, float, int]:
    """Return the first and the median time in seconds, and the bytes of the answer."""
    times = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        answer = client.get(path)
        times.append(time.perf_counter() - began)
        assert answer.status_code == 200, (path, answer.status_code)
    return times[0], statistics.median(times), len(answer.content)


def main() -> int:
    from django.contrib.auth.models import User  # noqa: PLC0415

    from tests.support.callers import Api  # noqa: PLC0415

    profile, above = uuid.uuid4(), 0
    with transaction.atomic():
        cart = [largest(profile) for _ in range(CARTS)][CARTS // 2]
        api, desk = Api(profile), Client()
        desk.force_login(User.objects.create_superuser("largest-bench"))
        rows = [
            ("list 20", api, "", LIST),
            ("list 100", api, "?limit=100", LIST),
            ("Get Cart", api, f"/{cart.pk}", CART),
            ("desk, list", desk, DESK, PAGE),
            ("desk, cart", desk, f"{DESK}{cart.pk}/change/", None),
        ]
        api.get(), desk.get("/admin/")
        print("| Answer | First, ms | Median, ms | Bytes | Limit, ms |")
        print("|---|---:|---:|---:|---:|")
        for name, client, path, limit in rows:
            first, median, size = timed(client, path)
            above += bool(limit and median > limit)
            shown = f"{limit * 1000:.0f}" if limit else "–"
            print(f"| {name} | {first * 1000:.0f} | {median * 1000:.0f} | {size:,} | {shown} |")
        transaction.set_rollback(True)
    return above


if __name__ == "__main__":
    with ExitStack() as stack:
        if "DATABASE_URL" not in os.environ:
            cluster = stack.enter_context(private_cluster())
            servers.migrate(cluster, "service")
            os.environ |= servers.environment(cluster, "service")
        os.environ |= {"MAX_ITEMS": str(ITEMS), "MAX_CART_OPTIONS": str(ITEMS * OPTIONS)}
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "cartsvc.settings")
        django.setup()
        settings.ALLOWED_HOSTS = [*settings.ALLOWED_HOSTS, "testserver"]
        logging.disable()
        sys.exit(main())
