"""What one caller can do, and what it costs the others: a table in Markdown.

python -m tests.chaos.attacks                      all, in about seven minutes
python -m tests.chaos.attacks --only body          those whose name holds the word
python -m tests.chaos.attacks --database sqlite    on SQLite, not on PostgreSQL
python -m tests.chaos.attacks --nginx              all through the shipped nginx

Two workers of the service run on a private PostgreSQL cluster, or on a file. An honest caller
creates a cart of 3 items with 2 options each and reads it, over and over, 25 requests a
second. Then eight attackers begin, who wait for nothing but their answers, and it goes on;
then they stop, and it goes on. All share the machine's cores. The attackers' process has the
lowest priority, because in earnest their processors are their own. Nothing else holds them up.

The last column says whether the bounds held; see `tests.chaos.trial`. The exit status is the
number of attacks during which one did not.
"""

import argparse
import json
import os
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import django
import psycopg
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from tests.chaos.hostile import ATTACKS, LARGE, Target
from tests.chaos.servers import ISSUER, RAISED, SIGNING_KEY, Service, service, with_issuer
from tests.chaos.trial import Caller, Result, honest, tried
from tests.support import bodies
from tests.support.clusters import private_cluster
from tests.support.programs import free_port
from tests.support.tokens import generated, public_jwk

# A list reads what is kept with a cart, and no items: those need not be copied.
COPIES = """
    CREATE TEMP TABLE copied AS SELECT carts_cart.* FROM carts_cart, (
        WITH RECURSIVE number(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < 100)
        SELECT n FROM number) AS numbers;
    UPDATE copied SET id = {new_id};
    INSERT INTO carts_cart SELECT * FROM copied;
"""

SIGNED_IN = """
from django.contrib.auth.models import User
from django.test import Client
client = Client()
client.force_login(User.objects.create_superuser("attacker"))
print(client.cookies["sessionid"].value)
"""


def made(target: Target, body: Any) -> str:
    """Create a cart; return its key."""
    sent = target.request("POST", target.carts, json.dumps(body).encode())
    status, answer = Caller(target, kept=False).ask(sent)
    assert status == "200", answer
    return str(json.loads(answer)["data"]["cartId"])


def prepared(target: Target) -> Target:
    """Make what the attacks read and change."""
    target.largest = made(target, LARGE)
    cart_id = made(target, bodies.cart())
    _, answer = Caller(target, kept=False).ask(target.request("GET", f"{target.carts}/{cart_id}"))
    item_id = json.loads(answer)["data"]["items"][0]["itemId"]
    target.hot = f"{cart_id}/items/{item_id}"
    return target


def with_copies(target: Target, server: Service) -> Target:
    """Make a hundred copies of the largest cart, and a session at the desk, which lists them."""
    target.largest = made(target, LARGE)
    database = server.env["DATABASE_URL"]
    if database.startswith("sqlite"):
        with closing(sqlite3.connect(server.sqlite)) as connection, connection:
            # They call functions that only Django provides.
            connection.execute("PRAGMA ignore_check_constraints = on")
            connection.executescript(COPIES.format(new_id="lower(hex(randomblob(16)))"))
    else:
        with psycopg.connect(database) as connection:
            connection.execute(COPIES.format(new_id="gen_random_uuid()"))
    *_log, target.session = server.manage("shell", "--no-imports", "-c", SIGNED_IN).splitlines()
    return prepared(target)


@contextmanager
def with_key(database: str, *, through_nginx: bool) -> Iterator[Target]:
    from tests.chaos.proxies import HOST, nginx  # noqa: PLC0415 (needs Django's settings)

    port = free_port()
    env = {"METRICS_BIND": f"127.0.0.1:{port}", "ALLOWED_HOSTS": f"{HOST},127.0.0.1"}
    https = str(through_nginx).lower()
    with ExitStack() as stack:
        server = stack.enter_context(service(database, HTTPS_ONLY=https, **env, **RAISED))
        target = Target(server.port, {"key": SIGNING_KEY}, metrics_port=port)
        if through_nginx:
            proxy = stack.enter_context(nginx(server))
            target = replace(target, port=proxy.port, certificate=proxy.certificate, host=HOST)
        yield with_copies(target, server)


@contextmanager
def with_issuers_keys(database: str) -> Iterator[Target]:
    from tests.support.issuers import running  # noqa: PLC0415 (as above)

    # As text, which a process can be handed.
    key = (
        generated("RS256", 0)
        .private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        .decode()
    )
    with (
        running(public_jwk("RS256", kid="known")) as issuer,
        with_issuer(issuer.url, database, **RAISED) as server,
    ):
        issuer.pause = 1
        signing = {"algorithm": "RS256", "key": key, "headers": {"kid": "known"}, "iss": ISSUER}
        yield prepared(Target(server.port, signing))


@contextmanager
def database_of(kind: str) -> Iterator[str]:
    """Yield the address of a new database; an empty one is a file of the service's own."""
    if kind == "sqlite":
        yield ""
    else:
        with private_cluster() as cluster:
            yield cluster.url()


def row(name: str, result: Result) -> str:
    answers = ", ".join(f"{number} × {status}" for status, number in sorted(result.answers.items()))
    bounds = ", ".join(result.missed()) or "hold"
    return f"| {name} | {result.before} | {result.during} | {result.after} | {answers} | {bounds} |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", default="", help="attacks whose name holds this")
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--database", choices=["postgresql", "sqlite"], default="postgresql")
    parser.add_argument("--nginx", action="store_true", help="all of them through nginx")
    options = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "cartsvc.settings")
    django.setup()
    print("| Attack | Before | During | After | Attackers' answers | Bounds |")
    print("|---|---|---|---|---|---|")
    missed = 0
    own_key = partial(with_key, through_nginx=options.nginx)
    for issuer, running_service in ((False, own_key), (True, with_issuers_keys)):
        names = [n for n in ATTACKS if options.only in n and ATTACKS[n].issuer == issuer]
        if not names:
            continue
        with database_of(options.database) as database, running_service(database) as target:
            honest(target, 1)  # fills caches and pools
            for name in names:
                result = tried(name, target, options.seconds)
                missed += bool(result.missed())
                print(row(name, result), flush=True)
    return missed


if __name__ == "__main__":
    sys.exit(main())
