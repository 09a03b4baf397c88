"""Each fault raises its alert, by the shipped rules: of these servers and at the shipped pace."""

import os
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from subprocess import Popen
from typing import Any, NamedTuple

import pytest
import requests
import yaml

from tests.machines.proxies import HOST, nginx
from tests.machines.scrapes import FIVE_MINUTES, Scrapes
from tests.machines.servers import (
    SIGNING_KEY,
    Service,
    connected,
    is_ready,
    scrape,
    service,
    with_issuer,
)
from tests.machines.test_http_on_the_wire import head
from tests.machines.test_nginx import HALF_A_BODY
from tests.support.callers import PROFILE
from tests.support.clusters import Cluster
from tests.support.programs import ROOT, accepts, free_port, program, running, wait_until
from tests.support.tokens import mint

NAME = "carts.example.com"
CONFIGURATION = yaml.safe_load((ROOT / "cartsvc/deploy/prometheus.yml").read_text())
[SITE] = CONFIGURATION["scrape_configs"][-1]["static_configs"][0]["targets"]
SITE_PATH = SITE.partition(NAME)[2]


@contextmanager
def watched(database_url: str = "", **env: str) -> Iterator[tuple[Service, Scrapes]]:
    """Run the service as behind nginx, and watch it."""
    metrics = f"127.0.0.1:{free_port()}"
    public = {"ALLOWED_HOSTS": f"{NAME},127.0.0.1", "METRICS_BIND": metrics, "HTTPS_ONLY": "1"}
    with service(database_url, **public | {"JWT_REQUIRE_PROFILE": "0"} | env) as server:
        yield server, Scrapes(cartsvc={"one": f"http://{metrics}/metrics"})


def ask(server: Service, times: int = 4, **claims: Any) -> list[int]:
    """Send what nginx would of some callers, and return the answers' statuses."""
    claims = {"key": SIGNING_KEY} | claims
    headers = {"Host": NAME, "X-Forwarded-Proto": "https"}
    headers["Authorization"] = f"Bearer {mint(**claims)}"
    url = f"{server.url}/v2.0/customers/{PROFILE}/carts"
    how: dict[str, Any] = {"headers": headers, "allow_redirects": False, "timeout": 60}
    return [requests.get(url, **how).status_code for _ in range(times)]


class Probe(NamedTuple):
    """A blackbox exporter: where it probes what follows, and its process."""

    url: str
    process: Popen[bytes]


@contextmanager
def blackbox(certificate: str = "/dev/null") -> Iterator[Probe]:
    """Run Debian's as it is shipped. It believes this certificate."""
    port = free_port()
    command = [
        program("prometheus-blackbox-exporter"),
        "--config.file=/etc/prometheus/blackbox.yml",
        f"--web.listen-address=127.0.0.1:{port}",
        "--log.level=error",
    ]
    env = {"SSL_CERT_FILE": certificate}
    with running(command, lambda: accepts(port), env=env) as process:
        yield Probe(f"http://127.0.0.1:{port}/probe?module=http_2xx&target=", process)


@pytest.mark.parametrize(
    ("setting", "status"),
    [
        ({"ALLOWED_HOSTS": "cart.example.com,127.0.0.1"}, 400),
        ({"FORWARDED_ALLOW_IPS": "10.0.0.9"}, 301),
    ],
    ids=["a letter is missing", "the proxy is not named"],
)
def test_an_outage_that_is_no_error_calls(setting: dict[str, str], status: int) -> None:
    """Every caller is refused, and the instance is well."""
    with watched() as (server, scrapes):
        scrapes.take(FIVE_MINUTES, lambda: ask(server))
        server.restart(**setting)
        assert set(ask(server)) == {status}
        scrapes.take(FIVE_MINUTES, lambda: ask(server))
    fired = scrapes.fired(since=FIVE_MINUTES)
    assert fired.keys() == {"CartsvcRefusals"}
    assert 0 < fired["CartsvcRefusals"] <= 240


def test_tokens_for_another_audience_call_and_expired_ones_do_not() -> None:
    with watched(JWT_AUDIENCE="carts") as (server, scrapes):

        def meanwhile(**refused: Any) -> None:
            ask(server, aud="carts")
            ask(server, 3, **refused)

        scrapes.take(FIVE_MINUTES, partial(meanwhile, aud="carts", exp=1))
        scrapes.take(FIVE_MINUTES, partial(meanwhile, aud="shops"))
    fired = scrapes.fired(since=FIVE_MINUTES)
    assert fired.keys() == {"CartsvcTokens"}
    assert fired["CartsvcTokens"] > 0


def test_workers_that_die_one_after_another_call() -> None:
    """One alone is replaced, and nobody has to know."""
    with watched() as (server, scrapes):
        scrapes.take(FIVE_MINUTES, lambda: ask(server))
        server.lose_a_worker()
        scrapes.take(FIVE_MINUTES, lambda: ask(server))
        assert scrapes.fired() == {}
        for _ in range(2):
            server.lose_a_worker()
            wait_until(server.is_up)
        scrapes.take(FIVE_MINUTES, lambda: ask(server))
    assert scrapes.fired(since=2 * FIVE_MINUTES).keys() == {"CartsvcWorkers"}


def test_a_caller_who_takes_all_threads_calls() -> None:
    hosts = f"{NAME},localhost,127.0.0.1"
    with (
        watched(ALLOWED_HOSTS=hosts, WEB_CONCURRENCY="1") as (server, scrapes),
        ExitStack() as kept,
    ):

        def meanwhile() -> None:
            half = head("POST", "Content-Length: 99", token=mint(key=SIGNING_KEY, sub="busy"))
            kept.enter_context(connected(server.port)).sendall(half)
            ask(server)

        scrapes.take(FIVE_MINUTES, lambda: ask(server))
        scrapes.take(2 * FIVE_MINUTES, meanwhile)
    assert scrapes.fired(since=FIVE_MINUTES).keys() == {"CartsvcBusy"}


def test_a_database_that_is_down_calls(cluster: Cluster) -> None:
    with watched(cluster.url()) as (server, scrapes), blackbox() as probe:
        scrapes.jobs["cartsvc_ready"] = {"one": f"{probe.url}{server.url}/readyz"}
        scrapes.take(FIVE_MINUTES, lambda: ask(server))
        cluster.stop()
        try:
            scrapes.take(FIVE_MINUTES, lambda: ask(server))
        finally:
            cluster.start()
    alerts = {"NotReady", "Refusals", "Errors", "DatabaseErrors"}
    assert scrapes.fired(since=FIVE_MINUTES).keys() == {f"Cartsvc{alert}" for alert in alerts}


def test_requests_that_take_long_call(cluster: Cluster) -> None:
    with watched(cluster.url()) as (server, scrapes):
        scrapes.take(FIVE_MINUTES, lambda: ask(server))

        def meanwhile() -> None:
            """Let one of many requests wait for a table."""
            with ThreadPoolExecutor() as pool:
                with cluster.connect() as other, other.transaction():
                    other.execute("LOCK TABLE carts_cart")
                    asked = pool.submit(ask, server)
                    time.sleep(1.2)
                asked.result()

        scrapes.take(FIVE_MINUTES + 6, meanwhile)
    assert scrapes.fired(since=FIVE_MINUTES).keys() == {"CartsvcSlow"}


def test_an_issuer_that_is_away_at_a_restart_calls() -> None:
    metrics = f"127.0.0.1:{free_port()}"
    nowhere = f"http://127.0.0.1:{free_port()}"
    with with_issuer(nowhere, METRICS_BIND=metrics) as server, blackbox() as probe:
        scrapes = Scrapes(
            cartsvc={"one": f"http://{metrics}/metrics"},
            cartsvc_ready={"one": f"{probe.url}{server.url}/readyz"},
        )

        def attempts() -> float:
            is_ready(server.url)
            return scrape(server).get('cartsvc_unreachable_total{server="issuer"}', 0)

        wait_until(attempts)
        scrapes.take(FIVE_MINUTES // 2)
        before = attempts()
        wait_until(lambda: attempts() > before)
        scrapes.take(FIVE_MINUTES // 2)
    assert scrapes.fired().keys() == {"CartsvcNotReady", "CartsvcIssuerUnreachable"}


def test_a_site_and_its_watchers_that_are_down_call() -> None:
    env = {"ALLOWED_HOSTS": f"{HOST},127.0.0.1"}
    with watched(**env) as (server, scrapes), nginx(server) as proxy:
        with blackbox(proxy.certificate) as probe:
            scrapes.jobs["cartsvc_site"] = {"site": f"{probe.url}{proxy.url}{SITE_PATH}"}
            scrapes.take(FIVE_MINUTES)
            server.restart(ALLOWED_HOSTS="127.0.0.1")
            scrapes.take(FIVE_MINUTES)
            fired = scrapes.fired(since=FIVE_MINUTES).keys() - {"CartsvcCertificate"}  # of a day
            assert fired == {"CartsvcSite", "CartsvcRefusals"}
            server.restart(**env)
            scrapes.take(FIVE_MINUTES)
            proxy.process.terminate()
            probe.process.terminate()
            wait_until(lambda: probe.process.poll() is not None)
        scrapes.take(FIVE_MINUTES)
    assert "CartsvcUnwatched" in scrapes.fired(since=3 * FIVE_MINUTES)


@pytest.mark.parametrize("connections", ["8192", "20"], ids=["of an address", "in all"])
def test_requests_that_nginx_refuses_call(connections: str, tmp_path: Path) -> None:
    """An address has too many requests under way, or nginx has no connection left.

    Half heads, which are none of the callers' requests, come beside them.
    """
    shutil.copy(ROOT / "cartsvc/deploy/cartsvc.mtail", tmp_path)
    port = free_port()
    with (
        watched(ALLOWED_HOSTS=f"{HOST},127.0.0.1", WEB_CONCURRENCY="1") as (server, scrapes),
        nginx(server) as proxy,
        ExitStack() as kept,
    ):
        main = proxy.folder / "nginx.conf"
        main.write_text(
            main.read_text().replace("8192", connections).replace("processes auto", "processes 1")
        )
        proxy.reload()
        watch = [program("mtail"), "--progs", tmp_path, "--logs", ",".join(map(str, proxy.logs))]
        listen = ["--address", "127.0.0.1", "--port", str(port), "--logtostderr"]
        kept.enter_context(running([*watch, *listen], lambda: accepts(port)))
        scrapes.jobs = {"nginx": {"one": f"http://127.0.0.1:{port}/metrics"}}
        scrapes.take(FIVE_MINUTES, lambda: proxy.caller().get())
        assert scrapes.fired() == {}

        def send(sent: bytes = head("GET"), times: int = 1) -> None:
            for _ in range(times):
                with suppress(OSError):
                    kept.enter_context(proxy.raw(sent, address="127.0.0.2"))
            for _ in range(150):
                with suppress(OSError), connected(proxy.plain_port) as half:
                    half.sendall(b"POST / HTTP/1.1\r\nHost")
            time.sleep(0.3)  # mtail reads four times a second

        send(HALF_A_BODY, 32)
        scrapes.take(FIVE_MINUTES, send)
        assert ("not enough\n" in proxy.logs[1].read_text()) == (connections == "20")
    assert scrapes.fired(since=FIVE_MINUTES).keys() == {"CartsvcProxy"}


def test_a_certificate_that_ends_soon_calls() -> None:
    with (
        watched(ALLOWED_HOSTS=f"{HOST},127.0.0.1") as (server, scrapes),
        nginx(server) as proxy,
        blackbox(proxy.certificate) as probe,
    ):
        scrapes.jobs["cartsvc_site"] = {"site": f"{probe.url}{proxy.url}/healthz"}
        scrapes.take(2 * FIVE_MINUTES)
    assert scrapes.fired() == {"CartsvcCertificate": 300}


def test_housekeeping_in_a_container_that_fails_calls(cluster: Cluster, tmp_path: Path) -> None:
    """By compose's own shell, with hours that end when the test says so."""
    described = yaml.safe_load((ROOT / "cartsvc/deploy/compose.yml").read_text())
    *shell, loop = described["services"]["housekeeping"]["entrypoint"]
    hours, port = tmp_path / "hours", free_port()
    os.mkfifo(hours)
    (tmp_path / "sleep").write_text(f"#!/bin/sh\ncat {hours}\n")
    (tmp_path / "sleep").chmod(0o755)
    here = [*shell, loop.replace("/tmp", str(tmp_path)).replace("8000", str(port))]
    with watched(cluster.url()) as (server, scrapes), blackbox() as probe:
        path = f"{tmp_path}:{Path(sys.executable).parent}:{os.environ['PATH']}"
        env = server.env | {"PATH": path}
        with running(here, cwd=ROOT, env=env, start_new_session=True) as process:
            done = tmp_path / "done"
            try:
                wait_until(done.exists)
                target = f"{probe.url}127.0.0.1:{port}/done"
                scrapes.jobs = {"cartsvc_housekeeping": {"done": target}}
                scrapes.take(FIVE_MINUTES)
                cluster.stop()
                hours.write_text("")
                wait_until(lambda: not done.exists())
                scrapes.take(2 * FIVE_MINUTES)
                cluster.start()
                hours.write_text("")
                wait_until(done.exists)
            finally:
                os.killpg(process.pid, signal.SIGTERM)
    assert scrapes.fired(since=FIVE_MINUTES) == {"CartsvcHousekeeping": 300}
