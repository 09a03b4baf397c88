"""Fill a migrated PostgreSQL database with carts of the last year, for tests of growth.

DATABASE_URL=postgres://... python -m tests.bench.fill_database --carts 1000000

PostgreSQL copies a hundred carts, ninety of them of one restaurant. Needs a superuser.
"""

import argparse
import os
import secrets
import uuid
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal

import django
import psycopg

CHUNK, TEMPLATES, BUSIEST = 20_000, 100, 90
DISHES = ("Pizza Margherita", "Club sandwich", "Green curry", "Chicken burger", "Cola 0.5 l")

# As a replica, PostgreSQL does not check foreign keys row by row. They hold by construction.
PREPARE = """
SET session_replication_role = replica;
SET synchronous_commit = off;
CREATE FUNCTION pg_temp.uuid7(moment timestamptz, seed text) RETURNS uuid LANGUAGE sql AS $$
    SELECT (
        lpad(to_hex(floor(extract(epoch FROM moment) * 1000)::bigint), 12, '0')
        || '7' || substr(md5(seed), 1, 3) || '8' || substr(md5(seed), 4, 15)
    )::uuid
$$;
CREATE TEMP TABLE cart AS SELECT * FROM carts_cart WHERE id = ANY(%(templates)s);
CREATE TEMP TABLE item AS SELECT * FROM carts_cartitem WHERE cart_id IN (SELECT id FROM cart);
CREATE TEMP TABLE option AS
    SELECT * FROM carts_cartitemoption WHERE item_id IN (SELECT id FROM item);
ANALYZE cart, item, option
"""

# Keys grow with the time of creation, like the service's own.
COPY = """
WITH copied AS MATERIALIZED (
    SELECT number, (%(templates)s::uuid[])[1 + number %% %(number)s] AS template,
        created_on, pg_temp.uuid7(created_on, %(salt)s || number) AS id,
        md5(%(salt)s || number * 7919 %% greatest(1, %(carts)s / 4))::uuid AS profile_key
    FROM generate_series(%(first)s::bigint, %(last)s::bigint) AS number,
        LATERAL (
            SELECT now() - interval '365 days' * (1 - number / %(carts)s::float8) AS created_on
        ) AS at
), carts AS (
    INSERT INTO carts_cart
    SELECT new.* FROM copied JOIN cart ON cart.id = template,
        LATERAL jsonb_populate_record(cart, jsonb_build_object(
            'id', copied.id, 'profile_key', copied.profile_key,
            'created_on', copied.created_on, 'modified_on', copied.created_on
        )) AS new
    ORDER BY number
), items AS (
    INSERT INTO carts_cartitem
    SELECT new.* FROM copied JOIN item ON item.cart_id = template,
        LATERAL jsonb_populate_record(item, jsonb_build_object(
            'id', pg_temp.uuid7(created_on, item.id::text || copied.id),
            'cart_id', copied.id, 'profile_key', copied.profile_key
        )) AS new
    ORDER BY number, item.position
)
INSERT INTO carts_cartitemoption
SELECT new.* FROM copied JOIN item ON item.cart_id = template
    JOIN option ON option.item_id = item.id,
    LATERAL jsonb_populate_record(option, jsonb_build_object(
        'item_id', pg_temp.uuid7(created_on, item.id::text || copied.id),
        'profile_key', copied.profile_key
    )) AS new
ORDER BY number, item.position, option.position
"""


def template(number: int, items: int, options: int) -> uuid.UUID:
    """Create a cart to be copied and return its id, which is lower than those of the copies."""
    from tests.support import factories  # noqa: PLC0415 (Django is set up by now)

    rows = [
        factories.ItemFactory(
            display_name=f"{DISHES[(number + position) % len(DISHES)]} {number}",
            price=Decimal(400 + (number * 37 + position * 211) % 2600) / 100,
            options=factories.OptionFactory.build_batch(options),
        )
        for position in range(items)
    ]
    return factories.CartFactory(
        id=uuid.UUID(int=secrets.randbits(32)),
        restaurant_key=1000 + max(0, number - BUSIEST),
        note=None if number % 5 else "Invoice to the office, cost centre 42",
        special_instructions=None if number % 3 else "Ring twice, floor 2",
        items=rows,
    ).pk


def load(database_url: str, carts: int, items: int, options: int) -> None:
    """Add this many carts to those that exist."""
    templates = [template(number, items, options) for number in range(TEMPLATES)]
    salt = secrets.token_hex(4)
    values = {"carts": carts, "templates": templates, "number": TEMPLATES, "salt": salt}

    def copy(first: int) -> None:
        with psycopg.connect(database_url, cursor_factory=psycopg.ClientCursor) as connection:
            connection.execute(PREPARE, values)
            last = min(first + CHUNK - 1, carts)
            connection.execute(COPY, {**values, "first": first, "last": last})

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(copy, range(1, carts + 1, CHUNK)))
    with psycopg.connect(database_url) as connection:
        connection.execute("ANALYZE")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--carts", type=int, default=1_000_000)
    parser.add_argument("--items", type=int, default=3, help="items in a cart")
    parser.add_argument("--options", type=int, default=2, help="options on an item")
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "cartsvc.settings")
    django.setup()
    load(os.environ["DATABASE_URL"], **vars(parser.parse_args()))
