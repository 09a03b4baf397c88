"""What one caller can do, and what it costs the others: a table in Markdown.

python -m tests.chaos.attacks                 all, in about six minutes
python -m tests.chaos.attacks --only body     those whose name holds the word

Two workers of the service run on a private PostgreSQL cluster. An honest caller creates a
cart of 3 items with 2 options each and reads it, over and over, 25 requests a second. Then
eight attackers in a process of their own begin, who wait for nothing but their answers, and
it goes on; then they stop, and it goes on. All share the machine's cores.
"""

import argparse
import json
import multiprocessing
import os
import socket
import statistics
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import django
import psycopg
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from tests.bench.client import LENGTH
from tests.chaos.hostile import ATTACKS, LARGE, Attack, Target
from tests.chaos.servers import SIGNING_KEY, service
from tests.support import bodies
from tests.support.clusters import private_cluster
from tests.support.programs import free_port, wait_until
from tests.support.tokens import generated, public_jwk

ATTACKERS = 8
PACE_SECONDS = 0.04
ISSUER = "https://id.example.com/"

Answers = Counter[str]


class Caller:
    """Sends prepared bytes, and reads a status and a body; a connection is kept if it can be."""

    def __init__(self, target: Target, *, kept: bool = True) -> None:
        self.target, self.kept = target, kept
        self.connection: socket.socket | None = None

    def __enter__(self) -> "Caller":
        return self

    def __exit__(self, *_: object) -> None:
        if self.connection:
            self.connection.close()

    def ask(self, sent: bytes) -> tuple[str, bytes]:
        """Return the answer; OSError when there is none."""
        connection, self.connection = self.connection or self.target.connect(), None
        try:
            with suppress(BrokenPipeError, ConnectionResetError):  # it may have answered before
                connection.sendall(sent)
            head, closes, body = self.receive(connection, sent.startswith(b"HEAD"))
        except BaseException:
            connection.close()
            raise
        if closes or not self.kept:
            connection.close()
        else:
            self.connection = connection
        return head[9:12].decode(), body

    @staticmethod
    def receive(connection: socket.socket, bodiless: bool) -> tuple[bytes, bool, bytes]:
        received = b""
        while b"\r\n\r\n" not in received:
            received += part_of(connection)
        head, _, body = received.partition(b"\r\n\r\n")
        length = LENGTH.search(head + b"\r\n")
        if b"transfer-encoding: chunked" in head.lower():
            while not body.endswith(b"0\r\n\r\n"):
                body += part_of(connection)
        parts, wanted = [body], 0 if bodiless or not length else int(length[1]) - len(body)
        while wanted > 0:
            parts.append(part_of(connection))
            wanted -= len(parts[-1])
        return head, b"\r\nconnection: close" in head.lower(), b"".join(parts)


def part_of(connection: socket.socket) -> bytes:
    part = connection.recv(262_144)
    if not part:
        raise ConnectionResetError("closed before the answer was whole")
    return part


def attacked(name: str, target: Target, seconds: float) -> Answers:
    """Attack for so long; return how often each status came, and how often none."""
    attack, until = ATTACKS[name], time.monotonic() + seconds

    def work(_number: int) -> Answers:
        sent = iter(attack.requests(target))
        return (
            held(attack, target, sent, until)
            if attack.holds
            else asked(attack, target, sent, until)
        )

    with ThreadPoolExecutor(ATTACKERS) as pool:
        return sum(pool.map(work, range(ATTACKERS)), Counter())


def asked(attack: Attack, target: Target, sent: Iterator[bytes], until: float) -> Answers:
    answers: Answers = Counter()
    with Caller(target, kept=attack.keeps) as caller:
        while time.monotonic() < until:
            try:
                answers[caller.ask(next(sent))[0]] += 1
            except OSError:
                answers["none"] += 1
    return answers


def held(attack: Attack, target: Target, sent: Iterator[bytes], until: float) -> Answers:
    with ExitStack() as stack:
        for _ in range(attack.holds):
            connection = stack.enter_context(target.connect(receive=2048))
            connection.sendall(next(sent))
        time.sleep(max(0, until - time.monotonic()))
    return Counter({"held": attack.holds})


@dataclass
class Seen:
    """What an honest caller saw: seconds that its answers took, and its refusals."""

    seconds: float
    waits: list[float] = field(default_factory=list)
    refused: Answers = field(default_factory=Counter)

    def __str__(self) -> str:
        median, slowest = statistics.median(self.waits) * 1000, max(self.waits) * 1000
        refused = "".join(f", {number} × {status}" for status, number in self.refused.items())
        return f"{median:.1f} / {slowest:.0f} / {len(self.waits) / self.seconds:.0f}{refused}"


def honest(target: Target, seconds: float) -> Seen:
    """Create a cart and read it, over and over, with a pause between any two requests."""
    owner = replace(target, profile=uuid.uuid4())
    create = owner.request(
        "POST", owner.carts, json.dumps(bodies.cart(items=3, options=2)).encode()
    )
    seen, sent, began = Seen(seconds), create, time.monotonic()
    with Caller(target) as caller:
        while time.monotonic() - began < seconds:
            asked_at = time.monotonic()
            try:
                status, body = caller.ask(sent)
            except OSError as error:
                status, body = type(error).__name__, b""
            took = time.monotonic() - asked_at
            seen.waits.append(took)
            if status == "200" and sent is create:
                sent = owner.request("GET", f"{owner.carts}/{json.loads(body)['data']['cartId']}")
            else:
                sent = create
            if status != "200":
                seen.refused[status] += 1
            time.sleep(max(0, PACE_SECONDS - took))
    return seen


@dataclass
class Result:
    """An attack, and what an honest caller saw before, during and after it."""

    before: Seen
    during: Seen
    after: Seen
    answers: Answers


def tried(name: str, target: Target, seconds: float) -> Result:
    # Forked before any thread is there, and not within the honest caller's time.
    with ProcessPoolExecutor(1, multiprocessing.get_context("fork")) as pool:
        pool.submit(os.getpid).result()
        before = honest(target, seconds / 2)
        attack = pool.submit(attacked, name, target, seconds + 0.5)
        time.sleep(0.5)
        during = honest(target, seconds)
        answers = attack.result()
        return Result(before, during, honest(target, seconds / 2), answers)


# A list reads what is kept with a cart, and no items: those need not be copied.
COPIES = """
    CREATE TEMP TABLE copied AS SELECT carts_cart.* FROM carts_cart, generate_series(1, 100);
    UPDATE copied SET id = gen_random_uuid();
    INSERT INTO carts_cart SELECT * FROM copied;
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


@contextmanager
def plain(database: str) -> Iterator[Target]:
    with service(database, METRICS_BIND=f"127.0.0.1:{free_port()}") as server:
        target = Target(server.port, {"key": SIGNING_KEY})
        target.largest = made(target, LARGE)
        with psycopg.connect(database) as connection:
            connection.execute(COPIES)
        yield prepared(target)


@contextmanager
def with_issuer(database: str) -> Iterator[Target]:
    from tests.support.issuers import running  # noqa: PLC0415 (needs Django's settings)

    # As text, which a process can be handed.
    key = (
        generated("RS256", 0)
        .private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        .decode()
    )
    with (
        running(public_jwk("RS256", kid="known")) as issuer,
        service(
            database,
            JWT_ALGORITHM="RS256",
            JWT_JWK_URL=issuer.url,
            JWT_ISSUER=ISSUER,
            JWT_SIGNING_KEY="",
        ) as server,
    ):
        issuer.pause = 1
        signing = {"algorithm": "RS256", "key": key, "headers": {"kid": "known"}, "iss": ISSUER}
        yield prepared(Target(server.port, signing))


@contextmanager
def behind_nginx(database: str) -> Iterator[Target]:
    from tests.chaos.test_nginx import HOST, Proxy  # noqa: PLC0415 (as above)

    names = f"{HOST},127.0.0.1"
    with (
        tempfile.TemporaryDirectory(prefix="cartsvc-") as folder,
        service(database, ALLOWED_HOSTS=names, HTTPS_ONLY="true") as server,
    ):
        proxy = Proxy(Path(folder), server)
        try:
            wait_until(proxy.is_up)
            target = Target(proxy.port, {"key": SIGNING_KEY}, proxy.certificate, HOST)
            yield prepared(target)
        finally:
            proxy.process.terminate()
            proxy.process.wait(10)


SERVICES = {"plain": plain, "issuer": with_issuer, "nginx": behind_nginx}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", default="", help="attacks whose name holds this")
    parser.add_argument("--seconds", type=float, default=4)
    options = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "cartsvc.settings")
    django.setup()
    print("| Attack | Before | During | After | Attackers' answers |")
    print("|---|---|---|---|---|")
    for kind, running_service in SERVICES.items():
        names = [
            name
            for name, attack in ATTACKS.items()
            if attack.service == kind and options.only in name
        ]
        if not names:
            continue
        with private_cluster() as cluster, running_service(cluster.url()) as target:
            honest(target, 1)  # fills caches and pools
            for name in names:
                result = tried(name, target, options.seconds)
                answers = ", ".join(
                    f"{number} × {status}" for status, number in sorted(result.answers.items())
                )
                print(
                    f"| {name} | {result.before} | {result.during} | {result.after} | {answers} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
