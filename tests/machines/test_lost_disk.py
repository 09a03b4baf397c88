"""Of three etcds, one loses its disk. By the page's lines it is a member again."""

import os
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from subprocess import STDOUT, Popen

from tests.machines.booted_machines import blocks
from tests.machines.patroni_nodes import HOSTS, shipped
from tests.support.programs import ROOT, free_port, is_ok, printed, program, running, wait_until

PAGE = (ROOT / "cartsvc/deploy/README.md").read_text()
LOST = next(block for block in blocks(PAGE, "From one machine to three") if "member add" in block)
LOSES = 3  # its number


def test_an_etcd_that_lost_its_disk_is_a_member_again(tmp_path: Path) -> None:
    for name in ("etcdctl", "envsubst"):
        program(name)
    ports = {port: free_port() for port in ("2379", "2380", "2381")}
    path = {"PATH": os.environ["PATH"]}

    def moved(text: str) -> str:
        return re.sub(r":(23\d\d)\b", lambda found: f":{ports[found[1]]}", text)

    @contextmanager
    def etcd(number: int, **others: str) -> Iterator[Popen[bytes]]:
        usual = shipped("etcd.env", ports, N=number, ME=HOSTS[number - 1])
        env = {**path, **usual, **others, "ETCD_DATA_DIR": str(tmp_path / f"{number}")}
        with (
            (tmp_path / f"{number}.log").open("a") as log,
            running([program("etcd")], env=env, stdout=log, stderr=STDOUT) as process,
        ):
            yield process

    def is_whole() -> bool:
        return all(is_ok(f"http://{host}:{ports['2379']}/health", 2) for host in HOSTS)

    with ExitStack() as others:
        for number in {1, 2, 3} - {LOSES}:
            others.enter_context(etcd(number))
        with etcd(LOSES):
            wait_until(is_whole)
        shutil.rmtree(tmp_path / f"{LOSES}")
        with etcd(LOSES) as refused:
            assert refused.wait(60)
        assert "has already been bootstrapped" in (tmp_path / f"{LOSES}.log").read_text()
        time.sleep(6)  # etcd adds no member until the others have known each other for five seconds
        written = tmp_path / "default"
        lines = LOST.replace("/etc/default/etcd", str(written)).replace(
            "systemctl restart etcd", ""
        )
        nodes = {f"NODE_{number}": host for number, host in enumerate(HOSTS, start=1)}
        mine = {**path, **nodes, "N": f"{LOSES}", "ME": HOSTS[LOSES - 1]}
        printed("bash", "-euc", moved(lines), cwd=ROOT / "cartsvc/deploy", env=mine)
        settings = re.findall(r"^(\w+)=(.*)$", moved(written.read_text()), re.MULTILINE)
        with etcd(LOSES, **dict(settings)):
            wait_until(is_whole)
