"""What one caller can do, and what it costs the others: a table in Markdown.

python -m tests.chaos.attacks                      all, in about seven minutes
python -m tests.chaos.attacks --only body          those whose name holds the word
python -m tests.chaos.attacks --database sqlite    on SQLite, not on PostgreSQL
python -m tests.chaos.attacks --nginx              all through the shipped nginx

tests/chaos/README.md says what it does, and shows what it last printed. The last column says
whether the bounds of `tests.chaos.trial` held. The exit status is the number of attacks during
which one did not.
"""

import argparse
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace

import django

from tests.chaos.hostile import ATTACKS, LARGE, Target
from tests.chaos.proxies import HOST, nginx
from tests.chaos.servers import ISSUER, RAISED, SIGNING_KEY, service, with_issuer
from tests.chaos.trial import Result, honest, tried
from tests.support.callers import HttpApi
from tests.support.carts import created, created_with_items
from tests.support.clusters import private_cluster
from tests.support.programs import free_port, wait_until
from tests.support.tokens import public_jwk

# Makes a hundred copies of the largest cart, and a session at the desk, which lists them. A list
# reads what is kept with a cart, and no items: those need not be copied.
COPIES = """
import uuid
from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.test import Client
from carts.models import Cart
cart = Cart.objects.order_by("-item_count").values()[0]
QuerySet(Cart).bulk_create(Cart(**cart | {"id": uuid.uuid4()}) for _ in range(100))
client = Client()
client.force_login(User.objects.create_superuser("attacker"))
print(client.cookies["sessionid"].value)
"""


def prepared(target: Target) -> Target:
    """Make what the attacks read and change."""
    caller = caller_at(target)
    target.largest = created(caller, LARGE)
    cart_id, [item_id] = created_with_items(caller, "Pizza")
    target.hot = f"{cart_id}/items/{item_id}"
    return target


def caller_at(target: Target) -> HttpApi:
    scheme = "https" if target.certificate else "http"
    caller = HttpApi(f"{scheme}://localhost:{target.port}", target.profile, **target.signing)
    caller.verify = target.certificate or True
    return caller


@contextmanager
def with_key(database: str, *, through_nginx: bool) -> Iterator[Target]:
    port = free_port()
    env = {"METRICS_BIND": f"127.0.0.1:{port}", "ALLOWED_HOSTS": f"{HOST},127.0.0.1"}
    https = str(through_nginx).lower()
    with ExitStack() as stack:
        server = stack.enter_context(service(database, HTTPS_ONLY=https, **env, **RAISED))
        target = Target(server.port, {"key": SIGNING_KEY}, metrics_port=port)
        if through_nginx:
            proxy = stack.enter_context(nginx(server))
            target = replace(target, port=proxy.port, certificate=proxy.certificate)
        prepared(target)
        *_log, target.session = server.manage("shell", "--no-imports", "-c", COPIES).splitlines()
        yield target


@contextmanager
def with_issuers_keys(database: str) -> Iterator[Target]:
    from tests.support.issuers import running  # noqa: PLC0415 (needs Django's settings)

    with (
        running(public_jwk("RS256", kid="known")) as issuer,
        with_issuer(issuer.url, database, **RAISED) as server,
    ):
        wait_until(lambda: issuer.asked == 2)  # each worker has the keys
        issuer.pause = 1
        signing = {"algorithm": "RS256", "headers": {"kid": "known"}, "iss": ISSUER}
        yield prepared(Target(server.port, signing))


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
    for issuer in (False, True):
        names = [n for n in ATTACKS if options.only in n and ATTACKS[n].issuer == issuer]
        if not names:
            continue
        with ExitStack() as stack:
            enter = stack.enter_context
            sqlite = options.database == "sqlite"
            database = "" if sqlite else enter(private_cluster()).url()
            if issuer:
                target = enter(with_issuers_keys(database))
            else:
                target = enter(with_key(database, through_nginx=options.nginx))
            honest(target, 1)  # fills caches and pools
            for name in names:
                result = tried(name, target, options.seconds)
                missed += bool(result.missed())
                print(row(name, result), flush=True)
    return missed


if __name__ == "__main__":
    sys.exit(main())
