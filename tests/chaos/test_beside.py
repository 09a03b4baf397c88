"""What stands beside the service cannot end it: logs, metrics, names, and an SQLite file."""

import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest
import requests

from tests.chaos.servers import Service, service
from tests.support import bodies
from tests.support.clusters import Cluster
from tests.support.programs import free_port, missing, wait_until

SMALL = 2 * 1024 * 1024


@pytest.fixture
def small_disk() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        mount = ["mount", "-t", "tmpfs", "-o", f"size={SMALL}", "tmpfs", folder]
        if subprocess.run(mount).returncode:
            missing("the right to mount a file system")
        yield Path(folder)
        subprocess.run(["umount", "--lazy", folder], check=True)


def fill(disk: Path) -> None:
    with suppress(OSError), (disk / "filler").open("wb") as filler:
        filler.write(bytes(2 * SMALL))


def test_a_stopped_service_is_one_database_file() -> None:
    with service() as server:
        assert server.caller().post("", bodies.cart()).status_code == 200
        assert Path(f"{server.sqlite}-wal").exists()
        server.stop()
        files = [file.name for file in Path(server.sqlite).parent.glob("*sqlite3*")]
    assert files == ["carts.sqlite3"]


def worker_is_replaced(server: Service) -> None:
    dead = server.workers()[0]
    os.kill(dead, signal.SIGKILL)
    wait_until(lambda: dead not in (workers := server.workers()) and len(workers) == 2, 10)
    assert wait_until(server.is_up) < 5


def ends(server: Service) -> None:
    server.stop()
    assert server.process.returncode == 0


def test_a_log_without_room_loses_lines(small_disk: Path) -> None:
    with service(log=small_disk / "service.log") as server:
        fill(small_disk)
        for _ in range(100):
            assert server.caller().get().status_code == 200
        worker_is_replaced(server)
        written = server.log.stat().st_size
        (small_disk / "filler").unlink()
        assert server.caller().get().status_code == 200
        assert server.log.stat().st_size > written
        ends(server)


def test_a_log_that_nobody_reads_loses_lines(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    with service(log=pipe) as server:
        os.close(reader)
        assert server.caller().get().status_code == 200
        worker_is_replaced(server)
        ends(server)


def test_a_log_whose_reader_stalls_loses_lines(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    with service(log=pipe) as server:
        caller = server.caller()
        for _ in range(400):  # a pipe holds some two hundred lines
            assert caller.get().status_code == 200
        worker_is_replaced(server)
        ends(server)
    os.close(reader)


@contextmanager
def with_metrics(folder: Path) -> Iterator[Service]:
    with service(METRICS_BIND=f"127.0.0.1:{free_port()}", TMPDIR=str(folder)) as server:
        yield server


def scrape(server: Service) -> str:
    answer = requests.get(f"http://{server.env['METRICS_BIND']}/metrics", timeout=5)
    assert answer.status_code == 200
    return answer.text


def test_workers_serve_without_room_for_their_counts(small_disk: Path) -> None:
    with with_metrics(small_disk) as server:
        fill(small_disk)
        worker_is_replaced(server)
        workers = server.workers()
        for _ in range(20):
            assert server.caller().get().status_code == 200
        assert server.workers() == workers
        assert "cartsvc_info" in scrape(server)
        ends(server)


def folder_of_counts(worker: int) -> Path:
    """Return the folder of the files that a worker has mapped to count in."""
    mapped = Path(f"/proc/{worker}/maps").read_text()
    return Path(re.findall(r"\S+/cartsvc-metrics-\w+", mapped)[0])


def test_workers_serve_without_the_folder_of_their_counts(tmp_path: Path) -> None:
    with with_metrics(tmp_path) as server:
        assert server.caller().get().status_code == 200
        healthy = server.workers()[1]
        shutil.rmtree(folder_of_counts(healthy))
        worker_is_replaced(server)
        for _ in range(20):
            assert server.caller().get().status_code == 200
        assert healthy in server.workers()
        assert "cartsvc_info" in scrape(server)

        # Workers that start later make the folder anew.
        server.process.send_signal(signal.SIGHUP)
        wait_until(lambda: healthy not in server.workers() and len(server.workers()) == 2, 60)
        wait_until(server.is_up)
        assert server.caller().get().status_code == 200
        assert 'operation="List Carts",status="200"' in scrape(server)
        ends(server)


def test_a_service_whose_workers_die_again_and_again_ends_with_an_error() -> None:
    with service() as server:

        def has_ended() -> bool:
            with suppress(OSError):  # one has just died, or all have
                for worker in server.workers():
                    os.kill(worker, signal.SIGKILL)
            return server.process.poll() is not None

        wait_until(has_ended, 60)
        assert server.process.returncode == 1
        assert "The workers die again and again" in server.log.read_text()


SILENT = """\
for file in resolv.conf nsswitch.conf hosts; do
  mount --bind $file /etc/$file || exit
done
cd "$0" && exec "$@"
"""
NAME_SERVERS = ("127.53.53.53", "127.53.53.54")


@contextmanager
def without_names(folder: Path) -> Iterator[Service]:
    """Run the service, whose next start meets name servers that answer nothing."""
    servers = "".join(f"nameserver {address}\n" for address in NAME_SERVERS)
    (folder / "resolv.conf").write_text(f"{servers}search one.example.com two.example.com\n")
    (folder / "nsswitch.conf").write_text("hosts: files dns\n")
    (folder / "hosts").write_text("127.0.0.9 known.example.com\n127.0.0.1 known.example.com\n")
    if subprocess.run(["unshare", "--mount", "true"]).returncode:
        missing("the right to mount a file system")
    with ExitStack() as stack:
        for address in NAME_SERVERS:
            silent = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
            try:
                silent.bind((address, 53))
            except PermissionError:
                missing("the right to listen at port 53")
        server = stack.enter_context(service(WEB_CONCURRENCY="1"))
        within = ["unshare", "--mount", f"--wd={folder}", "sh", "-c", SILENT, str(server.root)]
        server.command = [*within, *server.command]
        yield server


@pytest.mark.parametrize(
    "hosts", ["database", "one.example.com,two.example.com,three.example.com"], ids=["one", "three"]
)
def test_name_servers_that_do_not_answer(hosts: str, tmp_path: Path) -> None:
    """No request waits longer than a client does, with the names of both servers looked up."""
    with without_names(tmp_path) as server:
        server.restart(
            DATABASE_URL=f"postgres://cartsvc@{hosts}/carts",
            CACHE_URL="redis://cache:6379/0",
            THROTTLE_RATE="600/min",
        )
        for _ in range(3):
            callers = [server.caller() for _ in range(4)]  # as many as there are threads
            with ThreadPoolExecutor(4) as pool:
                answers = list(pool.map(lambda caller: caller.get(), callers))
            assert {answer.status_code for answer in answers} == {503}
            assert max(answer.elapsed.total_seconds() for answer in answers) < 5
        ends(server)


def test_each_known_address_is_tried_while_other_names_are_silent(
    cluster: Cluster, tmp_path: Path
) -> None:
    cluster.execute("CREATE DATABASE named")
    named = cluster.url("named").replace("127.0.0.1", "silent.example.com:1,known.example.com")
    with without_names(tmp_path) as server:
        server.env["DATABASE_URL"] = cluster.url("named")
        server.manage("migrate", "--verbosity=0")
        server.restart(DATABASE_URL=named)
        assert server.caller().get().status_code == 200
        ends(server)
