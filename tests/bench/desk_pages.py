"""Time every page of the support desk, and the API's reads, on a database that `load` has filled.

DATABASE_URL=postgres://... python -m tests.bench.desk_pages

Fails if a page takes longer than 0.15 seconds once it is warm, or a search 1.2 seconds, or if one
reads the whole of a table that grows with the carts.
"""

import logging
import os
import statistics
import sys
import time
from collections.abc import Iterator
from datetime import timedelta
from uuid import UUID

import django
from django.conf import settings
from django.db import connection, transaction
from django.db.models import Count
from django.test import Client
from django.utils import timezone

from tests.support.tokens import mint

# The rows that a busy year adds. They are rolled back at the end.
LOG = """
INSERT INTO django_admin_log (action_time, user_id, content_type_id, object_id, object_repr,
    action_flag, change_message)
SELECT now(), %s, (SELECT id FROM django_content_type WHERE model = 'cart'),
    gen_random_uuid()::text, '', 2, 'Item removed'
FROM generate_series(1, 100000);
INSERT INTO carts_staffentry (log_entry_id, cart_id, profile_key, version)
SELECT id, object_id::uuid, gen_random_uuid(), 2 FROM django_admin_log WHERE object_repr = '';
ANALYZE django_admin_log, carts_staffentry
"""

REPEATS = 5
LIMIT, SEARCH_LIMIT = 150, 1200  # milliseconds
CARTS = "/admin/carts/cart/"
SCANS = """
SELECT relname, seq_scan FROM pg_stat_xact_user_tables
WHERE relname IN ('carts_cart', 'carts_cartitem', 'carts_cartitemoption')
"""


def paths() -> Iterator[str]:
    """Yield the path of each page, for a cart in the middle of the table."""
    from carts.models import Cart, CartItem  # noqa: PLC0415 (Django is set up by now)

    cart = Cart.objects.order_by("id")[Cart.objects.count() // 2]
    item = CartItem.objects.filter(cart=cart)[0]
    day = (cart.created_on - timedelta(days=1)).strftime("%Y-%m-%dT%H:%M")
    night = cart.created_on.strftime("%Y-%m-%dT%H:%M")
    busiest = Cart.objects.values_list("restaurant_key").annotate(carts=Count("pk")).latest("carts")
    term = f"q={busiest[0]}"
    misread = UUID(int=cart.profile_key.int ^ 1 << 64)
    names = ("platform", "ordering_channel", "fulfilment_channel")
    terms = [
        *(cart.id, item.id, cart.profile_key, cart.restaurant_key, cart.partner_key, cart.subtotal),
        *("00000000-0000-4000-8000-000000000000", "2147483647", "NONE", "pizza", "zzz"),
        *(str(cart.id)[:8], str(cart.profile_key)[:9], "7" + str(cart.id)[1:]),
        *(f"{cart.partner_key}+zzz", "zzz+yesterday", "desk-bench", "zzz+pizza+cola"),
        *(misread, "PÍZZA", "tiramisù", "checkout", "order+zzz-1", "24+EUR", f"{day[:10]}+pizza"),
    ]
    queries = [
        *(f"q={each}" for each in terms),
        *(f"{term}+{dish_or_amount}" for dish_or_amount in ("pizza", "zzz", cart.subtotal, "0.01")),
        *(f"{name}={value}" for name in names for value in (getattr(cart, name), "ZZZ")),
        *("xlsx=1", f"before={cart.id}"),
        *("changed_by=zzz", f"q={cart.partner_key}&changed_by=zzz&changed_from={day}"),
        *(f"restaurant_key={busiest[0]}", f"profile_key={cart.profile_key}", "status=checkout"),
        *(f"created_from={day}&created_to={night}", f"changed_from={day}&changed_to={night}"),
        f"q={cart.partner_key}&platform=ZZZ",
        f"{term}&platform=ZZZ&created_to={night}",
    ]
    today = f"day={timezone.now():%Y-%m-%d}&agent=desk-bench"
    item_page = f"items/{item.id}/"
    pages = ("change/", "change/?staff", "items/add/", item_page, f"{item_page}remove/")
    pages += ("correct/", "note/", "abandon/", "delete/")
    yield from ("/admin/", f"{CARTS}mine/", f"{CARTS}activity/", "/admin/auth/user/", CARTS)
    for query in ("day=2020-01-01", "agent=desk-bench", today):
        yield f"{CARTS}activity/?{query}"
    for query in queries:
        yield f"{CARTS}?{query}"
    for page in pages:
        yield f"{CARTS}{cart.id}/{page}"
    yield f"/v2.0/customers/{cart.profile_key}/carts?limit=100"
    yield f"/v2.0/customers/{cart.profile_key}/carts/{cart.id}"


def scans() -> set[tuple[str, int]]:
    """Return how often this transaction has read each growing table from end to end."""
    with connection.cursor() as cursor:
        cursor.execute(SCANS)
        return set(cursor.fetchall())


def milliseconds(client: Client, path: str) -> float:
    began = time.perf_counter()
    response = client.get(path)
    took = 1000 * (time.perf_counter() - began)
    assert response.status_code in {200, 302}, (path, response.status_code)
    return took


def main() -> int:
    from django.contrib.auth.models import Group, User  # noqa: PLC0415

    bad = 0
    with transaction.atomic():
        user = User.objects.create_user("desk-bench", is_staff=True)
        user.groups.add(Group.objects.get(name="Cart support lead"))
        with connection.cursor() as cursor:
            cursor.execute(LOG.replace("%s", str(user.pk)))
        client = Client(headers={"Authorization": f"Bearer {mint()}"})
        client.force_login(user)
        milliseconds(client, "/admin/")
        print(f"First and median of {REPEATS}, in milliseconds")
        for path in list(paths()):
            before = scans()
            first, *warm = times = [milliseconds(client, path) for _ in range(REPEATS)]
            is_search = path.startswith(f"{CARTS}?")
            slow = max(times) > SEARCH_LIMIT if is_search else max(warm) > LIMIT
            verdict = "TOO SLOW " if slow else ""
            verdict += "".join(f"SCANS {table} " for table, _ in scans() - before)
            bad += bool(verdict)
            print(f"{first:7.0f} {statistics.median(times):7.0f}   {path} {verdict}")
        transaction.set_rollback(True)
    return bad


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "cartsvc.settings")
    django.setup()
    logging.disable()
    settings.ALLOWED_HOSTS = [*settings.ALLOWED_HOSTS, "testserver"]
    sys.exit(bool(main()))
