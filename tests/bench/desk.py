"""Time every page of the support desk on a loaded database, and show how it finds its rows.

The database server runs on this computer.

DATABASE_URL=postgres://... python -m tests.bench.desk
"""

import os
import re
import statistics
import time
from collections.abc import Iterator
from datetime import timedelta

import django
from django.conf import settings
from django.db import connection, transaction
from django.db.models import Count
from django.test import Client
from django.test.utils import CaptureQueriesContext

from tests.bench.processes import cpu_seconds

# The rows that a busy year adds. They are rolled back at the end.
LOG = """
INSERT INTO django_admin_log (action_time, user_id, content_type_id, object_id, object_repr,
    action_flag, change_message)
SELECT now(), %s, (SELECT id FROM django_content_type WHERE model = 'cart'),
    gen_random_uuid()::text, '', 2, 'Version 2. Item removed'
FROM generate_series(1, 100000);
ANALYZE django_admin_log
"""

REPEATS = 5
LIMIT = 0.3  # seconds
CARTS = "/admin/carts/cart/"

# Tables that grow with the number of carts.
GROWING = re.compile(r"Seq Scan on (carts_\w+|django_admin_log)")
INDEX = re.compile(r"Index (?:Only )?Scan(?: Backward)? (?:using|on) (\w+)")


def pages() -> Iterator[tuple[str, str]]:
    """Yield the name and path of each page, for a cart in the middle of the table."""
    from carts.models import Cart, CartItem  # noqa: PLC0415 (Django is set up by now)

    first, last = Cart.objects.earliest("id"), Cart.objects.latest("id")
    halfway = first.created_on + (last.created_on - first.created_on) / 2
    cart = Cart.objects.filter(created_on__lte=halfway, id__lt=last.id).latest("id")
    item = CartItem.objects.filter(cart=cart)[0]
    day = (cart.created_on - timedelta(days=1)).strftime("%Y-%m-%dT%H:%M")
    night = cart.created_on.strftime("%Y-%m-%dT%H:%M")
    yield "start page", "/admin/"
    yield "list", CARTS
    yield "list, half-way", f"{CARTS}?before={cart.id}"
    yield "list, back", f"{CARTS}?after={cart.id}"
    yield "search cartId", f"{CARTS}?q={cart.id}"
    yield "search itemId", f"{CARTS}?q={item.id}"
    yield "search profileKey", f"{CARTS}?q={cart.profile_key}"
    yield "search unknown GUID", f"{CARTS}?q=00000000-0000-4000-8000-000000000000"
    yield "search restaurantKey", f"{CARTS}?q={cart.restaurant_key}"
    yield "search unknown number", f"{CARTS}?q=2147483647"
    yield "search partnerKey", f"{CARTS}?q={cart.partner_key}"
    yield "search the oldest cart's partnerKey", f"{CARTS}?q={first.partner_key}"
    yield "search the oldest cart's restaurantKey", f"{CARTS}?q={first.restaurant_key}"
    yield "search unknown partner", f"{CARTS}?q=NONE"
    yield "search nonsense", f"{CARTS}?q=pizza"
    for name in ("partner_key", "platform", "ordering_channel", "fulfilment_channel", "currency"):
        yield f"filter {name}", f"{CARTS}?{name}={getattr(cart, name)}"
        yield f"filter {name}, none has it", f"{CARTS}?{name}=ZZZ"
    yield "filter created", f"{CARTS}?created_from={day}&created_to={night}"
    yield "filter created, none", f"{CARTS}?created_to=1999-01-01T00:00"
    yield "filter changed", f"{CARTS}?changed_from={day}&changed_to={night}"
    yield "filter changed lately, none", f"{CARTS}?changed_from=2999-01-01T00:00"
    yield (
        "partner and filters, none has them",
        f"{CARTS}?q={cart.partner_key}&platform=ZZZ&currency=EUR&changed_from={day}",
    )
    yield (
        "restaurant and filters, none has them",
        f"{CARTS}?q={cart.restaurant_key}&platform=ZZZ&created_to={night}",
    )
    keys = Cart.objects.values_list("restaurant_key")
    busiest, _ = keys.annotate(carts=Count("pk")).latest("carts")
    yield "busiest restaurant and a dish", f"{CARTS}?q={busiest}+pizza"
    yield "busiest restaurant and a dish, none has it", f"{CARTS}?q={busiest}+zzz"
    yield "the same, half-way", f"{CARTS}?q={busiest}+zzz&before={cart.id}"
    yield "busiest restaurant and an amount", f"{CARTS}?q={busiest}+{cart.subtotal}"
    yield "busiest restaurant and an amount, none has it", f"{CARTS}?q={busiest}+0.01"
    yield "cart", f"{CARTS}{cart.id}/change/"
    yield "item", f"{CARTS}{cart.id}/items/{item.id}/"
    yield "item, remove", f"{CARTS}{cart.id}/items/{item.id}/remove/"
    yield "item, add", f"{CARTS}{cart.id}/items/add/"
    yield "log of staff", f"{CARTS}{cart.id}/history/"


def plan(client: Client, path: str) -> tuple[set[str], set[str]]:
    """Return the indexes that a page's queries use and the tables that they scan."""
    with CaptureQueriesContext(connection) as queries:
        client.get(path)
    used, scanned = set(), set()
    with connection.cursor() as cursor:
        for query in queries.captured_queries:
            if query["sql"].startswith(("SELECT", "(")):
                cursor.execute("EXPLAIN " + query["sql"])
                text = "\n".join(row[0] for row in cursor.fetchall())
                used |= {name for name in INDEX.findall(text) if name.startswith("carts_")}
                scanned |= set(GROWING.findall(text))
    return used, scanned


def seconds(client: Client, path: str) -> float:
    began = time.perf_counter()
    response = client.get(path)
    assert response.status_code in {200, 302}, (path, response.status_code)
    return time.perf_counter() - began


def main() -> int:
    from django.contrib.auth.models import Group, User  # noqa: PLC0415

    from carts.models import Cart  # noqa: PLC0415

    bad = 0
    with transaction.atomic():
        user = User.objects.create_user("desk-bench", is_staff=True)
        user.groups.add(Group.objects.get(name="Cart support lead"))
        with connection.cursor() as cursor:
            cursor.execute(LOG.replace("%s", str(user.pk)))
            cursor.execute("SELECT pg_backend_pid()")
            [backend] = cursor.fetchone()
        client = Client()
        client.force_login(user)
        seconds(client, "/admin/")
        print(f"{Cart.objects.count():,} carts; first and median of {REPEATS}, in milliseconds,")
        print("and the CPU time of PostgreSQL, which depends little on who else uses the computer")
        for name, path in pages():
            before = cpu_seconds(backend)
            times = [seconds(client, path) for _ in range(REPEATS)]
            spent = (cpu_seconds(backend) - before) / REPEATS * 1000
            used, scanned = plan(client, path)
            verdict = f"SCANS {', '.join(sorted(scanned))}" if scanned else ", ".join(sorted(used))
            if scanned or max(times) > LIMIT:
                bad += 1
                verdict += "  <-- TOO SLOW" if max(times) > LIMIT else ""
            median = statistics.median(times) * 1000
            print(f"{name:45} {times[0] * 1000:7.0f} {median:7.0f} {spent:7.0f}   {verdict}")
        transaction.set_rollback(True)
    return bad


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "cartsvc.settings")
    django.setup()
    settings.ALLOWED_HOSTS = [*settings.ALLOWED_HOSTS, "testserver"]
    raise SystemExit(bool(main()))
