"""Time the export and the erasure of a customer with 1,000 carts on a loaded database.

DATABASE_URL=postgres://... python -m tests.bench.customers

1,000 of the carts that `tests.bench.load` has made become the customer's, with 20 changes each.
They are erased at the end. What is added of others stays: changes, a log of staff, idempotency
keys.
"""

import os
import resource
import time
import uuid
from io import StringIO

import django
from django.core.management import call_command
from django.db import connection

CARTS, CHANGES, LOG, KEYS = 1_000, 20, 200_000, 100_000

FILL = """
UPDATE carts_cart SET profile_key = %(profile)s, version = 1 + %(changes)s
WHERE id IN (SELECT id FROM carts_cart ORDER BY md5(id::text) LIMIT %(carts)s);

UPDATE carts_cartitem SET profile_key = %(profile)s
FROM carts_cart WHERE carts_cart.profile_key = %(profile)s AND cart_id = carts_cart.id;

UPDATE carts_cartitemoption SET profile_key = %(profile)s
FROM carts_cartitem WHERE carts_cartitem.profile_key = %(profile)s AND item_id = carts_cartitem.id;

INSERT INTO carts_cartchange (cart_id, profile_key, version, at, author_kind, author_name,
    operation, item_name, before, after, subtotal_before, subtotal_after)
SELECT id, profile_key, number, modified_on, 'bearer', 'partner-app', 'Change Item',
    'Pizza Margherita',
    '{"quantity":1,"special_instructions":null}',
    '{"quantity":2,"special_instructions":"No onions, please"}', subtotal, subtotal
FROM carts_cart, generate_series(2, 1 + %(changes)s) AS number
WHERE profile_key = %(profile)s OR id < (SELECT id FROM carts_cart ORDER BY id OFFSET 10000 LIMIT 1)
ON CONFLICT DO NOTHING;

INSERT INTO auth_user (password, is_superuser, username, first_name, last_name, email, is_staff,
    is_active, date_joined)
VALUES ('', false, %(profile)s, '', '', '', true, true, now());

INSERT INTO django_admin_log (action_time, user_id, content_type_id, object_id, object_repr,
    action_flag, change_message)
SELECT now(), (SELECT id FROM auth_user WHERE username = %(profile)s),
    (SELECT id FROM django_content_type WHERE app_label = 'carts' AND model = 'cart'),
    cart, cart || ' of ' || profile, 2, 'Item “Pizza Margherita”: quantity 1 → 2'
FROM (
    SELECT gen_random_uuid()::text, gen_random_uuid()::text FROM generate_series(1, %(log)s)
    UNION ALL SELECT id::text, profile_key::text FROM carts_cart WHERE profile_key = %(profile)s
) AS entry (cart, profile);

INSERT INTO carts_idempotencyrecord (profile_key, key, fingerprint, created_id, created_on)
SELECT gen_random_uuid(), 'k', '\\x00'::bytea, gen_random_uuid(), now()
FROM generate_series(1, %(keys)s)
UNION ALL
SELECT profile_key, 'k' || id, '\\x00'::bytea, id, now()
FROM carts_cart WHERE profile_key = %(profile)s;

ANALYZE carts_cart, carts_cartchange, django_admin_log, carts_idempotencyrecord;
"""


class Counted(StringIO):
    """An output that keeps nothing but the number of characters."""

    size = 0

    def write(self, text: str) -> int:
        self.size += len(text)
        return len(text)


def run(command: str, *arguments: str) -> None:
    out, began, cpu = Counted(), time.perf_counter(), time.process_time()
    call_command(command, *arguments, stdout=out)
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{command:16} {seconds:6.2f} s, {cpu:.2f} s of them CPU of the command, "
        f"{out.size:,} characters, at most {memory:.0f} MB"
    )


def main() -> None:
    from carts.management.customers import held_of  # noqa: PLC0415 (Django is set up by now)

    profile = str(uuid.uuid4())
    with connection.cursor() as cursor:
        values = {"carts": CARTS, "changes": CHANGES, "log": LOG, "keys": KEYS}
        cursor.execute(FILL % {**values, "profile": f"'{profile}'"})
    for name, rows in held_of(profile).items():
        began = time.perf_counter()
        found = len(rows.values_list("pk"))
        print(f"{name:20} {found:6,} found in {(time.perf_counter() - began) * 1000:.0f} ms")
    run("export_customer", profile)
    run("erase_customer", profile, "--no-input")
    assert not any(rows.exists() for rows in held_of(profile).values())


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "cartsvc.settings")
    django.setup()
    main()
