"""The files for containers: what they say, and their commands without a container.

No image can be pulled here. So the commands run as the Containerfile says: by a user without
rights, on a file system that is read-only but for /tmp.
"""

import json
import os
import re
import shlex
import subprocess
import sys
from typing import Any

import pytest
import yaml

from tests.chaos.servers import ROOT
from tests.support.clusters import private_cluster
from tests.support.programs import free_port, program, wait_until

DEPLOY = ROOT / "cartsvc/deploy"
CONTAINERFILE = (DEPLOY / "Containerfile").read_text().replace("\\\n", "")
COMPOSE = yaml.safe_load((DEPLOY / "compose.yml").read_text())
USER = "10001"


def instruction(name: str) -> str:
    (value,) = re.findall(f"^{name} (.*)$", CONTAINERFILE, re.MULTILINE)
    return str(value)


def test_the_service_is_not_root_and_its_root_is_read_only() -> None:
    assert instruction("USER") == f"{USER}:{USER}"
    for name in ("migrate", "one", "two"):
        described = COMPOSE["services"][name]
        assert described["read_only"]
        assert described["tmpfs"] == ["/tmp"]
        assert described["cap_drop"] == ["ALL"]


def test_podman_and_compose_ask_for_the_health_of_the_service() -> None:
    """Without --format=docker, podman drops the HEALTHCHECK of the image."""
    (build,) = re.findall(r"podman build .*", CONTAINERFILE)
    assert "--format=docker" in build
    asked = json.loads(instruction("HEALTHCHECK").partition("CMD ")[2])
    for name in ("one", "two"):
        described = COMPOSE["services"][name]["healthcheck"]
        assert described["test"] == ["CMD", *asked]


def test_what_is_copied_is_here() -> None:
    for sources in re.findall(r"^COPY (.*) \S+$", CONTAINERFILE, re.MULTILINE):
        assert (ROOT / sources).exists()
    assert (DEPLOY / COMPOSE["x-service"]["build"]["context"]).resolve() == ROOT


def test_variables_and_names_are_those_of_the_service_and_of_nginx() -> None:
    documented = re.findall(
        r"^\| `([A-Z_]+)` \|", (ROOT / "cartsvc/README.md").read_text(), re.MULTILINE
    )
    named = {name.removesuffix("_FILE") for name in COMPOSE["x-service"]["environment"]}
    assert named <= set(documented)
    filled = set(re.findall(r"\$\{([A-Z_]+)\}", (DEPLOY / "nginx.conf").read_text()))
    assert COMPOSE["services"]["nginx"]["environment"].keys() == filled
    proxy = COMPOSE["services"]["nginx"]["networks"]["inside"]["ipv4_address"]
    assert COMPOSE["x-service"]["environment"]["FORWARDED_ALLOW_IPS"] == proxy


@pytest.fixture
def confined() -> list[str]:
    """Return what goes before a command: no rights, another user, and nothing to write but /tmp.

    One right is left, to read what is in root's own folders: Python or the clone may be there.
    """
    if os.geteuid() != 0:
        pytest.skip("only root can make a file system read-only")
    script = (
        f"mount --make-rprivate /; mount --bind -o ro {shlex.quote(str(ROOT))} /srv; cd /srv; "
        "mount --bind /tmp /tmp; mount -o remount,bind,ro /; "
        f"exec {program('setpriv')} --reuid={USER} --regid={USER} --clear-groups "
        "--bounding-set=-all,+dac_read_search --inh-caps=-all,+dac_read_search "
        '--ambient-caps=+dac_read_search --no-new-privs "$@"'
    )
    return [program("unshare"), "--mount", "sh", "-euc", script, "sh"]


def test_the_commands_need_no_rights(confined: list[str]) -> None:
    program_, script = json.loads(instruction("ENTRYPOINT"))
    (command,) = json.loads(instruction("CMD"))
    health: list[Any] = json.loads(instruction("HEALTHCHECK").partition("CMD ")[2])
    assert program_ == health[0] == "python"
    port = free_port()
    with private_cluster() as cluster:
        env = {
            "PATH": os.environ["PATH"],
            "DATABASE_URL": cluster.url(),
            "SECRET_KEY": "s3cret" * 10,
            "JWT_SIGNING_KEY": "an0ther" * 10,
            "BIND": f"127.0.0.1:{port}",
            "METRICS_BIND": f"127.0.0.1:{free_port()}",
        }
        here = [*confined, sys.executable]
        subprocess.run([*here, script, "migrate", "--verbosity=0"], env=env, check=True)
        ask = [part.replace("127.0.0.1:8000", f"127.0.0.1:{port}") for part in health[1:]]

        def healthy() -> bool:
            return subprocess.run([*here, *ask], capture_output=True, timeout=60).returncode == 0

        assert not healthy()
        process = subprocess.Popen([*here, script, command], env=env)
        try:
            wait_until(healthy, 90)
        finally:
            process.terminate()
            assert process.wait(60) == 0
