"""What one caller may cost the others: attacks, shortly, and a limited rate.

The long form tries every attack, measures what an honest caller bears, and takes seven minutes. It
is on PostgreSQL, on a file of SQLite, or on PostgreSQL behind the shipped nginx:

    ATTACKS=postgresql pytest tests/machines/test_attacks.py -s    # or sqlite, or nginx

tests/machines/README.md says what it does, and shows what it last printed.
"""

import json
import os
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace

import pytest

from tests.machines.attack_trials import Caller, honest, try_attack
from tests.machines.attacks import ATTACKS, LARGE, LARGEST, MANY, Target
from tests.machines.proxies import HOST, nginx
from tests.machines.servers import (
    ISSUER,
    RAISED,
    SIGNING_KEY,
    service,
    with_issuer,
)
from tests.support.callers import HttpApi
from tests.support.carts import created, created_with_items
from tests.support.issuers import running
from tests.support.programs import free_port, wait_until
from tests.support.tokens import public_jwk

LONG = os.environ.get("ATTACKS", "")
SHORT = [
    "bad bodies, 500 items of 100 empty options",
    "lawful bodies, 500 items of 10 options",
    "numbers of 300 digits",
    "changes that prefer the largest cart back",
    "slow readers, 16 of the largest cart",
    "stalled heads, 64",
    "stalled bodies, and reads of the largest cart",
]
# What a bad or large body may get. A body that is refused before it is read may get none.
LAWFUL = {"200", "400", "503", "none", "held"}
if LONG:  # what a token, a path, a version, a rate or a header may get
    LAWFUL |= {"401", "404", "412", "429", "431"}

# Makes a customer of many carts, a hundred copies of the largest cart, and a session at the desk,
# which lists them. A list reads what is kept with a cart, and no items: those need not be copied.
COPIES = f"""
import uuid
from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.test import Client
from uuid_utils.compat import uuid7
from carts.models import Cart
largest = Cart.objects.order_by("-item_count").values()[0]
for cart, copies in ((largest | {{"profile_key": uuid.{MANY!r}}}, {MANY.int}), (largest, 100)):
    rows = (Cart(**cart | {{"id": uuid7()}}) for _ in range(copies))
    QuerySet(Cart).bulk_create(rows, batch_size=1000)
client = Client()
client.force_login(User.objects.create_superuser("attacker"))
print(client.cookies["sessionid"].value)
"""


def prepared(target: Target) -> Target:
    """Make what the attacks read and change, and fill caches and pools."""
    scheme = "https" if target.certificate else "http"
    caller = HttpApi(f"{scheme}://localhost:{target.port}", target.profile, **target.signing)
    caller.verify = target.certificate or True
    target.largest = created(caller, LARGEST)
    cart_id, [item_id] = created_with_items(caller, "Pizza")
    target.hot = f"{cart_id}/items/{item_id}"
    honest(target, 1)
    return target


@pytest.fixture(scope="module")
def database(request: pytest.FixtureRequest) -> str:
    return "" if LONG == "sqlite" else request.getfixturevalue("cluster").url()


@pytest.fixture(scope="module")
def with_key(database: str) -> Iterator[Target]:
    port = free_port()
    env = {"METRICS_BIND": f"127.0.0.1:{port}", "ALLOWED_HOSTS": f"{HOST},127.0.0.1"}
    https = str(LONG == "nginx").lower()
    with ExitStack() as stack:
        server = stack.enter_context(service(database, HTTPS_ONLY=https, **env, **RAISED))
        target = Target(server.port, {"key": SIGNING_KEY}, metrics_port=port)
        if LONG == "nginx":
            proxy = stack.enter_context(nginx(server))
            target = replace(target, port=proxy.port, certificate=proxy.certificate)
        prepared(target)
        *_log, target.session = server.manage("shell", "--no-imports", "-c", COPIES).splitlines()
        yield target


@pytest.fixture(scope="module")
def with_issuers_keys(database: str) -> Iterator[Target]:
    with (
        running(public_jwk("RS256", kid="known")) as issuer,
        with_issuer(issuer.url, database, **RAISED) as server,
    ):
        wait_until(lambda: issuer.asked == 2)  # each worker has the keys
        issuer.pause = 1
        signing = {"algorithm": "RS256", "headers": {"kid": "known"}, "iss": ISSUER}
        yield prepared(Target(server.port, signing))


@pytest.mark.parametrize("name", ATTACKS if LONG else SHORT)
def test_an_attack_keeps_nobody_from_an_answer(request: pytest.FixtureRequest, name: str) -> None:
    verified = "with_issuers_keys" if ATTACKS[name].issuer else "with_key"
    target: Target = request.getfixturevalue(verified)

    seen, answers = try_attack(name, target, 4 if LONG else 2)

    print(f"\n| {name} | {seen} | {dict(answers)} |")
    assert answers
    assert set(answers) <= LAWFUL
    assert seen.waits
    assert not seen.errors
    if LONG:  # on a quiet machine
        assert seen.slowest < 2
        assert seen.median < 0.5
    # No thread is kept: as many large bodies as there are threads pass again.
    large = target.request("POST", target.carts, json.dumps(LARGE).encode())
    assert [Caller(target, kept=False).ask(large)[0] for _ in range(8)] == ["200"] * 8
    assert not honest(target, 0.5).errors
