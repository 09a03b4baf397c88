"""The service as its operators see it: metrics, logs, probes, start and stop."""

import json
import re
import signal
import socket
import stat
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import requests

from cartsvc import __version__
from cartsvc.serving.server import GRACEFUL_TIMEOUT_SECONDS
from tests.machines.servers import ROOT, Service, connected, scrape, service
from tests.machines.test_http_on_the_wire import head
from tests.support import bodies
from tests.support.carts import created
from tests.support.clusters import Cluster
from tests.support.programs import free_port, program, running, wait_until

WAITING = "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock'"


def name_of(server: Service) -> str:
    return f"{socket.gethostname()}:{server.port}"


def test_metrics_are_right_across_workers_and_outlive_them() -> None:
    with service(METRICS_BIND=f"127.0.0.1:{free_port()}") as server:
        callers = [server.caller() for _ in range(8)]
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda n: callers[n % 8].post(body=bodies.cart()), range(64)))
        for _ in range(2):
            callers[0].post(body=bodies.cart(), Idempotency_Key="once")
        callers[0].post(body=bodies.bare_cart(), Idempotency_Key="once")
        callers[0].post(body={})
        expected = {
            f'cartsvc_info{{instance_name="{name_of(server)}",version="{__version__}"}}': 1,
            'cartsvc_requests_total{operation="Create Cart",status="200"}': 66,
            'cartsvc_requests_total{operation="Create Cart",status="400"}': 1,
            'cartsvc_requests_total{operation="Create Cart",status="422"}': 1,
            'cartsvc_request_seconds_count{operation="Create Cart"}': 68,
            "cartsvc_replays_total": 1,
            "cartsvc_database_errors_total": 0,
            "cartsvc_workers_replaced_total": 0,
        }

        def counted() -> dict[str, float]:
            return {name: n for name, n in scrape(server).items() if name in expected}

        wait_until(lambda: counted() == expected)

        server.lose_a_worker()
        wait_until(server.is_up)
        callers[0].get()
        expected['cartsvc_requests_total{operation="List Carts",status="200"}'] = 1
        expected["cartsvc_workers_replaced_total"] = 1
        wait_until(lambda: counted() == expected)


def test_an_error_is_counted_by_what_is_behind_it() -> None:
    where = {"METRICS_BIND": f"127.0.0.1:{free_port()}", "JWT_AUDIENCE": "carts"}
    with service(**where, WEB_CONCURRENCY="1") as server, ExitStack() as stack:
        caller = server.caller(aud="carts", sub="busy")
        server.caller(aud="elsewhere").get()
        server.caller(aud="carts", exp=1).get()
        half = head("POST", "Content-Length: 99", token=caller.token)
        for _ in range(3):  # one more than half of the threads
            stack.enter_context(connected(server.port)).sendall(half)

        def counted() -> dict[str, float]:
            return {name: n for name, n in scrape(server).items() if "errors_total{" in name}

        wait_until(lambda: len(counted()) == 3)
        assert counted() == {
            f'cartsvc_errors_total{{code="{code}",exception="{exception}"}}': 1
            for code, exception in (
                ("invalid_token", "InvalidAudienceError"),
                ("invalid_token", "ExpiredSignatureError"),
                ("unavailable", "Busy"),
            )
        }


def test_each_request_is_one_line_with_no_secret_in_it() -> None:
    trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    with service() as server:
        caller = server.caller(sub="somebody@example.org")
        headers = {"X-Request-ID": "trace-me-1", "traceparent": f"00-{trace}-00f067aa0ba902b7-01"}
        body = bodies.cart(note="t0p s3cret")
        assert caller.post("?token=s3cret", body, **headers).status_code == 200
        caller.post(body={})
        for path in ("v2.0/%0d%0aforged", "healthz"):
            requests.get(f"{server.url}/{path}", timeout=60)
        text = server.log.read_text()
    written = map(json.loads, text.splitlines())  # the server's own lines are JSON, too
    created, refused, unknown = (line for line in written if line["logger"] == "cartsvc.access")
    assert (refused["status"], unknown["status"]) == (400, 404)
    assert created.pop("time")
    assert created.pop("duration_ms") > 0
    assert re.fullmatch("[0-9a-f]{16}", created["bearer"])
    assert refused["bearer"] == created.pop("bearer")
    assert created == {
        "level": "INFO",
        "logger": "cartsvc.access",
        "message": "Create Cart 200",
        "operation": "Create Cart",
        "status": 200,
        "request_id": "trace-me-1",
        "trace_id": trace,
        "instance": name_of(server),
    }
    for secret in ("s3cret", "somebody", caller.token, "forged", caller.base.split("/")[5]):
        assert secret not in text


def test_a_stop_finishes_what_runs(cluster: Cluster) -> None:
    long_timeouts = "tests.support.long_timeouts"
    with service(cluster.url(), DJANGO_SETTINGS_MODULE=long_timeouts) as server:
        caller = server.caller()
        cart = created(caller)
        with ThreadPoolExecutor() as pool:
            with cluster.connect() as other, other.transaction():
                other.execute("SELECT 1 FROM carts_cart WHERE id = %s FOR UPDATE", [cart])
                adding = pool.submit(caller.post, f"/{cart}/items", bodies.item())
                wait_until(lambda: cluster.execute(WAITING))
                stopping = pool.submit(server.stop)
                time.sleep(1)
                assert not adding.done()
            assert adding.result().status_code == 200
            stopping.result(20)
        assert server.process.returncode == 0
        with pytest.raises(requests.ConnectionError):
            requests.get(f"{server.url}/healthz", timeout=2)


@pytest.mark.parametrize("told", [signal.SIGTERM, signal.SIGHUP])
def test_a_drain_serves_on_until_it_is_told_again(told: int) -> None:
    with (
        service(DJANGO_SETTINGS_MODULE="tests.machines.long_drain") as server,
        requests.Session() as kept,
    ):
        server.process.send_signal(told)
        ready = f"{server.url}/readyz"
        wait_until(lambda: requests.get(ready, timeout=60).status_code == 503)
        # Each is a connection of its own, to either worker.
        answers = [requests.get(ready, timeout=60) for _ in range(20)]
        assert [each.json() for each in answers] == [{"status": "draining"}] * 20
        answer = kept.get(f"{server.url}/healthz", timeout=60)
        assert (answer.status_code, answer.headers["Connection"]) == (200, "close")
        assert server.caller().post(body=bodies.cart()).status_code == 200
        assert len(server.workers()) == 2
        server.stop()
        assert server.process.returncode == 0


UNITS = ["cartsvc@", "cartsvc-housekeeping", "cartsvc-backup", "cartsvc-postgresql", "patroni"]


@pytest.mark.parametrize("name", UNITS)
def test_the_units_are_sound_and_the_service_may_do_little(name: str, tmp_path: Path) -> None:
    """A program that is here is in place of theirs."""
    for shipped in (ROOT / "cartsvc/deploy").glob("*.[st]*"):
        here = re.sub("(/srv/patroni|/usr)/bin/[a-z]+", sys.executable, shipped.read_text())
        (tmp_path / shipped.name.replace("@", "@1")).write_text(here)
    unit = tmp_path / f"{name.replace('@', '@1')}.service"
    asked = [["verify", unit, *tmp_path.glob(f"{name}.timer")]]
    if name in {"cartsvc@", "cartsvc-housekeeping"}:
        asked.append(["security", "--offline=true", "--threshold=20", "--no-pager", unit])
    for arguments in asked:
        command = [program("systemd-analyze"), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert (done.returncode, done.stderr) == (0, ""), done.stdout


def test_what_the_unit_leaves_to_a_stop_and_nginx(tmp_path: Path) -> None:
    lines = (ROOT / "cartsvc/deploy/cartsvc@.service").read_text().splitlines()
    unit = dict(line.split("=", 1) for line in lines if re.match("[A-Z]", line))
    assert int(unit["TimeoutStopSec"]) >= 5 + GRACEFUL_TIMEOUT_SECONDS
    # nginx is in the unit's group, which may connect to a socket file.
    path = tmp_path / "socket"
    env = {"DATABASE_URL": f"sqlite:///{tmp_path}/x.sqlite3", "BIND": f"unix:{path}"}
    command = [sys.executable, "manage.py", "serve"]
    how: dict[str, Any] = {"umask": int(unit["UMask"], 8), "stdout": subprocess.DEVNULL}
    with running(command, path.exists, cwd=ROOT, env=env, **how):
        assert stat.S_IMODE(path.stat().st_mode) == 0o770
