"""What stands beside the service cannot end it: logs, metrics, names, and an SQLite file."""

import os
import re
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from tests.chaos.servers import Service, scrape, service
from tests.support.carts import created
from tests.support.clusters import Cluster
from tests.support.programs import free_port, missing, wait_until


def fill(disk: Path) -> None:
    with suppress(OSError), (disk / "filler").open("wb") as filler:
        filler.write(bytes(33 << 20))


def test_a_stopped_service_is_one_database_file() -> None:
    with service() as server:
        created(server.caller())
        assert Path(f"{server.sqlite}-wal").exists()
        server.stop()
        files = [file.name for file in Path(server.sqlite).parent.glob("*sqlite3*")]
    assert files == ["carts.sqlite3"]


def serves(server: Service, requests: int = 20) -> None:
    caller = server.caller()
    assert [caller.get().status_code for _ in range(requests)] == [200] * requests


def replaces_a_worker(server: Service) -> None:
    server.lose_a_worker()
    assert wait_until(server.is_up) < 5


def ends(server: Service) -> None:
    server.stop()
    assert server.process.returncode == 0


def test_a_log_without_room_loses_lines(small_disk: Path) -> None:
    with service(log=small_disk / "service.log") as server:
        fill(small_disk)
        serves(server, 100)
        replaces_a_worker(server)
        written = server.log.stat().st_size
        (small_disk / "filler").unlink()
        serves(server)
        assert server.log.stat().st_size > written
        ends(server)


@pytest.mark.parametrize("stays", [False, True], ids=["gone", "stalled"])
def test_a_log_whose_reader_does_not_read_loses_lines(tmp_path: Path, stays: bool) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    with service(log=pipe) as server:
        if not stays:
            os.close(reader)
        serves(server, 400)  # a pipe holds some two hundred lines
        replaces_a_worker(server)
        ends(server)
    if stays:
        os.close(reader)


def with_metrics(folder: Path) -> dict[str, str]:
    return {"METRICS_BIND": f"127.0.0.1:{free_port()}", "TMPDIR": str(folder)}


def test_workers_serve_without_room_for_their_counts(small_disk: Path) -> None:
    with service(**with_metrics(small_disk)) as server:
        fill(small_disk)
        replaces_a_worker(server)
        workers = server.workers()
        serves(server)
        assert server.workers() == workers
        assert scrape(server)
        ends(server)


def test_workers_serve_without_the_folder_of_their_counts(tmp_path: Path) -> None:
    with service(**with_metrics(tmp_path)) as server:
        serves(server)
        healthy = server.workers()[0]
        mapped = Path(f"/proc/{healthy}/maps").read_text()
        shutil.rmtree(re.findall(r"\S+/cartsvc-metrics-\w+", mapped)[0])
        replaces_a_worker(server)
        serves(server)
        assert healthy in server.workers()
        assert scrape(server)

        # Workers that start later make the folder anew.
        server.process.send_signal(signal.SIGHUP)
        wait_until(lambda: healthy not in server.workers() and len(server.workers()) == 2, 60)
        wait_until(server.is_up)
        serves(server)
        assert 'cartsvc_requests_total{operation="List Carts",status="200"}' in scrape(server)
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


@pytest.fixture
def without_names(cluster: Cluster, tmp_path: Path) -> Iterator[Service]:
    """The service, whose next start meets name servers that answer nothing."""
    servers = "".join(f"nameserver {address}\n" for address in NAME_SERVERS)
    (tmp_path / "resolv.conf").write_text(f"{servers}search one.example.com two.example.com\n")
    (tmp_path / "nsswitch.conf").write_text("hosts: files dns\n")
    (tmp_path / "hosts").write_text("127.0.0.9 known.example.com\n127.0.0.1 known.example.com\n")
    if subprocess.run(["unshare", "--mount", "true"]).returncode:
        missing("the right to mount a file system")
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as two,
        service(cluster.url(), WEB_CONCURRENCY="1") as server,
    ):
        for silent, address in zip((one, two), NAME_SERVERS, strict=True):
            silent.bind((address, 53))  # as root, like the mounts
        within = ["unshare", "--mount", f"--wd={tmp_path}", "sh", "-c", SILENT, str(server.root)]
        server.command = [*within, *server.command]
        yield server
        ends(server)


def test_name_servers_that_do_not_answer(without_names: Service) -> None:
    """No request waits longer than a client does, with the names of both servers looked up."""
    server = without_names
    server.restart(
        DATABASE_URL="postgres://cartsvc@one.example.com,two.example.com,three.example.com/carts",
        CACHE_URL="redis://cache:6379/0",
        THROTTLE_RATE="600/min",
    )
    for _ in range(3):
        callers = [server.caller() for _ in range(4)]  # as many as there are threads
        with ThreadPoolExecutor(4) as pool:
            answers = list(pool.map(lambda caller: caller.get(), callers))
        assert {answer.status_code for answer in answers} == {503}
        assert max(answer.elapsed.total_seconds() for answer in answers) < 5


def test_each_known_address_is_tried_while_other_names_are_silent(
    cluster: Cluster, without_names: Service
) -> None:
    hosts = "silent.example.com:1,known.example.com"
    without_names.restart(DATABASE_URL=cluster.url().replace("127.0.0.1", hosts))
    serves(without_names, 1)
