"""Fill a migrated PostgreSQL database with carts of the last year, for tests of growth.

DATABASE_URL=postgres://... python -m tests.bench.load --carts 1000000
"""

import argparse
import os
import secrets

import psycopg
from tqdm import tqdm

CHUNK = 20_000

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
CREATE FUNCTION pg_temp.uuid4(seed text) RETURNS uuid LANGUAGE sql AS $$
    SELECT overlay(overlay(md5(seed) PLACING '4' FROM 13) PLACING '9' FROM 17)::uuid
$$;
CREATE FUNCTION pg_temp.one_of(choices text[], number bigint) RETURNS text LANGUAGE sql AS $$
    SELECT choices[1 + number % cardinality(choices)]
$$;
CREATE FUNCTION pg_temp.item_value(number bigint, item bigint, options bigint)
RETURNS numeric LANGUAGE sql AS $$
    SELECT (4 + (number * 37 + item * 211) % 2600 / 100.0 + (
        SELECT coalesce(sum((number * 29 + option * 25) % 300 / 100.0), 0)
        FROM generate_series(0, options - 1) AS option
    )) * (1 + (number + item) % 4)
$$;
CREATE TEMPORARY TABLE loaded (
    number bigint, id uuid, profile_key uuid, currency text, created_on timestamptz
);
"""

# Keys grow with the time of creation, like the service's own.
CARTS = """
INSERT INTO loaded
SELECT number,
    pg_temp.uuid7(created_on, %(salt)s || number),
    pg_temp.uuid4(%(salt)s || number * 7919 %% greatest(1, %(carts)s / 4)),
    pg_temp.one_of('{EUR,EUR,EUR,GBP,USD,CHF,SEK,PLN}', number * 31 / 7),
    created_on
FROM generate_series(%(first)s::bigint, %(last)s::bigint) AS number,
    LATERAL (
        SELECT now() - interval '365 days' * (1 - number / %(carts)s::float8)
    ) AS moment (created_on);

INSERT INTO carts_cart (
    id, profile_key, partner_key, restaurant_key, platform, ordering_channel,
    fulfilment_channel, currency, note, special_instructions, version, created_on, modified_on,
    created_by_kind, created_by_name, created_request_id, item_count, option_count, subtotal
)
SELECT id, profile_key,
    pg_temp.one_of('{ACME,ACME,BIST,CURY,DELI}', number),
    CASE WHEN number %% 100 < %(busiest)s THEN 1000 ELSE 1000 + number * 613 %% 2500 END,
    pg_temp.one_of('{ios-app,android-app,web,kiosk}', number / 3),
    pg_temp.one_of('{MOBILE,WEB,KIOSK}', number / 5),
    pg_temp.one_of('{DELIVERY,PICKUP,DINE_IN}', number / 2),
    currency,
    CASE WHEN number %% 5 = 0 THEN 'Invoice to the office, cost centre ' || number %% 90 END,
    CASE WHEN number %% 3 = 0 THEN 'Ring twice, floor ' || number %% 9 END,
    1, created_on, created_on, 'bearer', 'partner-app', md5(number::text),
    %(items)s, %(items)s * %(options)s, (
        SELECT coalesce(sum(pg_temp.item_value(number, item, %(options)s)), 0)
        FROM generate_series(0, %(items)s - 1) AS item
    )
FROM loaded ORDER BY number;

INSERT INTO carts_cartitem (
    id, cart_id, profile_key, position, menu_key, menu_version, menu_item_key, display_name,
    currency, price, quantity, special_instructions, value
)
SELECT pg_temp.uuid7(created_on, %(salt)s || number || '/' || position), id, profile_key, position,
    pg_temp.one_of('{DINNER-2026,LUNCH-2026,BREAKFAST-2026}', number), 1 + number %% 40,
    4611686018427387904 + number * 17 %% 5000 + position,
    pg_temp.one_of(
        '{Pizza Margherita,Club sandwich,Green curry,Chicken burger,Caesar salad,Cola 0.5 l}',
        number + position
    ) || ' ' || number %% 60,
    currency, 4 + (number * 37 + position * 211) %% 2600 / 100.0, 1 + (number + position) %% 4,
    CASE WHEN (number + position) %% 8 = 0 THEN 'No onions, please' END,
    pg_temp.item_value(number, position, %(options)s)
FROM loaded, generate_series(0, %(items)s - 1) AS position ORDER BY number, position;

INSERT INTO carts_cartitemoption (
    item_id, profile_key, position, option_set_key, option_set_item_key, display_name, currency,
    price
)
SELECT pg_temp.uuid7(created_on, %(salt)s || number || '/' || item), profile_key, position,
    500 + position, 9007199254740993 + number * 13 %% 900,
    pg_temp.one_of(
        '{Extra mozzarella,Large,Gluten-free base,No ice,Hot sauce}', number + item + position
    ),
    currency, (number * 29 + position * 25) %% 300 / 100.0
FROM loaded, generate_series(0, %(items)s - 1) AS item,
    generate_series(0, %(options)s - 1) AS position
ORDER BY number, item, position;

TRUNCATE loaded;
"""


def load(database_url: str, carts: int, items: int = 3, options: int = 2, busiest: int = 0) -> None:
    """Add this many carts to those that exist. Needs a superuser.

    Restaurant 1000 gets `busiest` per cent of them; the others share the rest.
    """
    values = {"carts": carts, "items": items, "options": options, "busiest": busiest}
    values["salt"] = secrets.token_hex(4)
    with psycopg.connect(
        database_url, autocommit=True, cursor_factory=psycopg.ClientCursor
    ) as connection:
        connection.execute(PREPARE)
        with tqdm(total=carts, unit="cart", unit_scale=True) as progress:
            for first in range(1, carts + 1, CHUNK):
                last = min(first + CHUNK - 1, carts)
                connection.execute(CARTS, {**values, "first": first, "last": last})
                progress.update(last - first + 1)
        connection.execute("ANALYZE")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--carts", type=int, default=1_000_000)
    parser.add_argument("--items", type=int, default=3, help="items in a cart")
    parser.add_argument("--options", type=int, default=2, help="options on an item")
    parser.add_argument("--busiest", type=int, default=0, help="per cent of one restaurant's carts")
    load(os.environ["DATABASE_URL"], **vars(parser.parse_args()))
