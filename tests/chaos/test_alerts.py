"""The alert rules: each fires at its cause only, and stops after it.

promtool plays the rules with made-up series. Then a real Prometheus watches the service and a
machine while every cause is made, with shorter minutes. The long form has minutes of 60 seconds
and no cause:

    QUIET_MINUTES=10 pytest tests/chaos/test_alerts.py -k quiet -s
"""

import os
import re
import signal
import subprocess
import time
import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event

import pytest
import requests

from tests.chaos.prometheus import RULES, machine, prometheus, shortened
from tests.chaos.servers import ISSUER, ROOT, service, with_issuer
from tests.support import bodies
from tests.support.callers import HttpApi
from tests.support.clusters import Cluster, private_cluster
from tests.support.issuers import running as running_issuer
from tests.support.programs import free_port, program, wait_until
from tests.support.tokens import mint, private_key, public_jwk

OF_SERVICE = {
    "CartsvcDatabaseErrors",
    "CartsvcDown",
    "CartsvcErrors",
    "CartsvcIssuerUnreachable",
    "CartsvcNotReady",
    "CartsvcSlow",
    "CartsvcUnlimited",
}
OF_MACHINE = {"CartsvcDisk", "CartsvcHousekeeping"}

Redis = tuple[str, subprocess.Popen[bytes]]


def promtool(*arguments: object) -> None:
    done = subprocess.run(
        [program("promtool"), *map(str, arguments)], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_rules_are_sound() -> None:
    promtool("check", "rules", RULES)


def test_each_alert_fires_at_its_cause_and_at_nothing_else() -> None:
    cases = ROOT / "tests/chaos/alerts.yml"
    alerts = re.findall(r"- alert: (\w+)", RULES.read_text())
    for alert in alerts:
        assert f"- alertname: {alert}\n" in cases.read_text()
    promtool("test", "rules", cases)


def test_each_alert_has_its_cause_made_below() -> None:
    assert set(re.findall(r"- alert: (\w+)", RULES.read_text())) == OF_SERVICE | OF_MACHINE


@contextmanager
def load(callers: Sequence[HttpApi], pause: float = 0) -> Iterator[Counter[str]]:
    """Have callers create, read, change and refuse carts. Yield the count of each answer."""
    over, answers = Event(), Counter[str]()

    def ask(caller: HttpApi, method: str, path: str = "", body: object = None) -> str:
        """Return the first id of what is answered, or none."""
        over.wait(pause)
        try:
            answer = caller.request(method, path, body, Idempotency_Key=str(uuid.uuid4()))
        except requests.RequestException as error:
            answers[type(error).__name__] += 1
            return ""
        answers[f"{method} {answer.status_code}"] += 1
        return "".join(re.findall(r'"(?:cartId|itemId)": ?"([^"]+)', answer.text)[:1])

    def work(caller: HttpApi) -> None:
        while not over.is_set():
            cart = ask(caller, "POST", "", bodies.cart(items=3, options=2))
            ask(caller, "GET", f"/{cart}")
            item = ask(caller, "POST", f"/{cart}/items", bodies.item())
            ask(caller, "PUT", f"/{cart}/items/{item}", bodies.item(options=5))
            ask(caller, "GET", "?limit=5")
            ask(caller, "POST", "", bodies.cart(currency="XXY"))
            ask(caller, "DELETE", f"/{cart}/items/{item}")
            ask(caller, "GET", f"/{uuid.uuid4()}")

    with ThreadPoolExecutor(len(callers)) as pool:
        working = [pool.submit(work, caller) for caller in callers]
        try:
            yield answers
        finally:
            over.set()
    for done in working:
        done.result()


# Called before each cart is stored.
PACE = """
    CREATE OR REPLACE FUNCTION pace() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN PERFORM pg_sleep({}); RETURN NEW; END $$
"""
PACED = "CREATE TRIGGER pace BEFORE INSERT ON carts_cart FOR EACH ROW EXECUTE FUNCTION pace()"


@contextmanager
def stopped(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Have a program answer nobody meanwhile."""
    process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        process.send_signal(signal.SIGCONT)


@contextmanager
def slow(cluster: Cluster) -> Iterator[None]:
    cluster.execute(PACE.format(1.5))
    try:
        yield
    finally:
        cluster.execute(PACE.format(0))


def test_each_alert_of_the_service_fires_at_its_cause_and_stops_after(redis: Redis) -> None:
    """A minute of the rules is three seconds, in which a worker may ask the issuer once."""
    cache, cache_server = redis
    ports = free_port(), free_port()
    binds = [{"METRICS_BIND": f"127.0.0.1:{port}"} for port in ports]
    limit = {"THROTTLE_RATE": "100000/s", "CACHE_URL": cache}
    with (
        private_cluster() as cluster,
        running_issuer(public_jwk("RS256", kid="known")) as issuer,
        service(cluster.url(), **binds[0], **limit) as server,
        with_issuer(issuer.url, **binds[1]) as other,
        prometheus(shortened(3), "1s", metrics=ports, ready=[server.port]) as watcher,
    ):
        cluster.execute(f"{PACE.format(0)}; {PACED}")
        with load([server.caller() for _ in range(4)]):
            wait_until(lambda: watcher.ask("rate(cartsvc_requests_total[15s]) > 0"), 60)
            watcher.wait_until_firing()
            # New workers need the keys.
            issuer.raw = b"nonsense"
            other.process.send_signal(signal.SIGHUP)
            with stopped(cache_server), slow(cluster):
                watcher.wait_until_firing(
                    "CartsvcIssuerUnreachable", "CartsvcSlow", "CartsvcUnlimited"
                )
            issuer.raw = None
            watcher.wait_until_firing()
            cluster.stop()
            other.stop()
            watcher.wait_until_firing(
                "CartsvcDatabaseErrors",
                "CartsvcDown",
                "CartsvcErrors",
                "CartsvcNotReady",
                besides="CartsvcSlow",  # who waits for the database waits long
            )
            cluster.start()
            other.start()
            watcher.wait_until_firing()
        assert watcher.fired() == OF_SERVICE


def test_each_alert_of_the_machine_fires_at_its_cause_and_stops_after() -> None:
    """A minute of the rules is a tenth of a second."""
    timer = "cartsvc-housekeeping.timer"
    with machine() as made, prometheus(shortened(0.1), "250ms", node=made.port) as watcher:
        # A timer that has not come yet is no cause.
        wait_until(lambda: watcher.ask("node_systemd_timer_last_trigger_seconds == 0"), 60)
        time.sleep(2)
        assert watcher.fired() == set()
        made.hurry()
        wait_until(lambda: watcher.ask("node_systemd_timer_last_trigger_seconds > 0"), 60)
        watcher.wait_until_firing()

        fails, hangs = made.folder / "fails", made.folder / "hangs"
        fails.touch()
        watcher.wait_until_firing("CartsvcHousekeeping")
        fails.unlink()
        watcher.wait_until_firing()

        made.systemctl("stop", timer)
        made.fill_disk()
        watcher.wait_until_firing("CartsvcDisk", "CartsvcHousekeeping")
        made.systemctl("start", timer)
        made.filler.unlink()
        watcher.wait_until_firing()

        hangs.touch()
        watcher.wait_until_firing("CartsvcHousekeeping")
        hangs.unlink()
        watcher.wait_until_firing()


@pytest.mark.skipif("QUIET_MINUTES" not in os.environ, reason="set QUIET_MINUTES")
def test_no_alert_in_quiet_minutes_under_load(redis: Redis) -> None:
    metrics = free_port()
    limit = {"THROTTLE_RATE": "600/min", "CACHE_URL": redis[0]}
    bind = {"METRICS_BIND": f"127.0.0.1:{metrics}"}
    with (
        machine() as made,
        private_cluster() as cluster,
        running_issuer(public_jwk("RS256", kid="known")) as issuer,
        with_issuer(issuer.url, cluster.url(), **bind, **limit) as server,
        prometheus(
            RULES.read_text(), "15s", metrics=[metrics], ready=[server.port], node=made.port
        ) as watcher,
    ):
        callers = [server.caller(sub=f"bearer {number}") for number in range(6)]
        for number, caller in enumerate(callers):
            key, kid = private_key("RS256"), {"kid": "known"}
            caller.token = mint("RS256", key=key, headers=kid, iss=ISSUER, sub=f"bearer {number}")
        with load(callers, pause=0.15) as answers:
            time.sleep(float(os.environ["QUIET_MINUTES"]) * 60)
            for rule in ("up", "probe_success", "node_filesystem_avail_bytes"):
                assert watcher.ask(f"min_over_time({rule}[1d]) > 0")
            print(f"\n{dict(sorted(answers.items()))}")
            print("pending:", watcher.ask('max_over_time(ALERTS{alertstate="pending"}[1d])'))
        assert watcher.fired() == set()
