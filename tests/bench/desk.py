"""Time every page of the support desk, and the API's reads, on a database that `load` has filled.

DATABASE_URL=postgres://... python -m tests.bench.desk

The database server runs on this computer. Fails if a page takes longer than 0.3 seconds or reads
the whole of a table that grows with the carts.
"""

import logging
import os
import re
import statistics
import sys
import time
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import django
from django.conf import settings
from django.db import connection, transaction
from django.db.models import Count
from django.test import Client
from django.test.utils import CaptureQueriesContext

from tests.bench.processes import cpu_seconds
from tests.support.tokens import mint

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
LIMIT = 300  # milliseconds
CARTS = "/admin/carts/cart/"
SCAN = re.compile(r"Seq Scan on (carts_cart(?:item|itemoption)?)\b")


def pages() -> Iterator[tuple[str, str]]:
    """Yield the name and path of each page, for a cart in the middle of the table."""
    from carts.models import Cart, CartItem  # noqa: PLC0415 (Django is set up by now)

    cart = Cart.objects.order_by("id")[Cart.objects.count() // 2]
    item = CartItem.objects.filter(cart=cart)[0]
    day = (cart.created_on - timedelta(days=1)).strftime("%Y-%m-%dT%H:%M")
    night = cart.created_on.strftime("%Y-%m-%dT%H:%M")
    busiest = Cart.objects.values_list("restaurant_key").annotate(carts=Count("pk")).latest("carts")
    dish = f"{CARTS}?q={busiest[0]}"
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
    yield "search unknown partner", f"{CARTS}?q=NONE"
    for name in ("partner_key", "platform", "ordering_channel", "fulfilment_channel", "currency"):
        yield f"filter {name}", f"{CARTS}?{name}={getattr(cart, name)}"
        yield f"filter {name}, none has it", f"{CARTS}?{name}=ZZZ"
    yield "filter created", f"{CARTS}?created_from={day}&created_to={night}"
    yield "filter changed", f"{CARTS}?changed_from={day}&changed_to={night}"
    yield "filter changed, none", f"{CARTS}?changed_from=2999-01-01T00:00"
    yield "partner and filters, none", f"{CARTS}?q={cart.partner_key}&platform=ZZZ&currency=EUR"
    yield "busiest restaurant and a filter, none", f"{dish}&platform=ZZZ&created_to={night}"
    yield "busiest restaurant and a dish", f"{dish}+pizza"
    yield "busiest restaurant and a dish, none", f"{dish}+zzz"
    yield "busiest restaurant and an amount", f"{dish}+{cart.subtotal}"
    yield "busiest restaurant and an amount, none", f"{dish}+0.01"
    yield "cart", f"{CARTS}{cart.id}/change/"
    yield "item", f"{CARTS}{cart.id}/items/{item.id}/"
    yield "item, remove", f"{CARTS}{cart.id}/items/{item.id}/remove/"
    yield "item, add", f"{CARTS}{cart.id}/items/add/"
    yield "log of staff", f"{CARTS}{cart.id}/history/"
    yield "API, List Carts", f"/v2.0/customers/{cart.profile_key}/carts?limit=100"
    yield "API, Get Cart", f"/v2.0/customers/{cart.profile_key}/carts/{cart.id}"


def scans(client: Client, path: str) -> set[str]:
    """Return the growing tables that a page's queries read from end to end."""
    with CaptureQueriesContext(connection) as queries:
        client.get(path)
    selects = [query["sql"] for query in queries.captured_queries]
    with connection.cursor() as cursor:
        plans: list[Any] = []
        for select in selects:
            if select.startswith(("SELECT", "(")):
                cursor.execute("EXPLAIN " + select)
                plans += cursor.fetchall()
    return set(SCAN.findall(str(plans)))


def milliseconds(client: Client, path: str) -> float:
    began = time.perf_counter()
    response = client.get(path)
    assert response.status_code in {200, 302}, (path, response.status_code)
    return 1000 * (time.perf_counter() - began)


def main() -> int:
    from django.contrib.auth.models import Group, User  # noqa: PLC0415

    bad = 0
    with transaction.atomic():
        user = User.objects.create_user("desk-bench", is_staff=True)
        user.groups.add(Group.objects.get(name="Cart support lead"))
        with connection.cursor() as cursor:
            cursor.execute(LOG.replace("%s", str(user.pk)))
            cursor.execute("SELECT pg_backend_pid()")
            [backend] = cursor.fetchone()
        client = Client(headers={"Authorization": f"Bearer {mint()}"})
        client.force_login(user)
        milliseconds(client, "/admin/")
        print(f"First and median of {REPEATS}, and PostgreSQL's CPU time, in milliseconds")
        for name, path in pages():
            before = cpu_seconds(backend)
            times = [milliseconds(client, path) for _ in range(REPEATS)]
            spent = 1000 * (cpu_seconds(backend) - before) / REPEATS
            verdict = "TOO SLOW " if max(times) > LIMIT else ""
            verdict += "".join(f"SCANS {table} " for table in scans(client, path))
            bad += bool(verdict)
            median = statistics.median(times)
            print(f"{name:45} {times[0]:7.0f} {median:7.0f} {spent:7.0f}   {verdict}")
        transaction.set_rollback(True)
    return bad


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "cartsvc.settings")
    django.setup()
    logging.disable()
    settings.ALLOWED_HOSTS = [*settings.ALLOWED_HOSTS, "testserver"]
    sys.exit(bool(main()))
