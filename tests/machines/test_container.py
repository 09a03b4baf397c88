"""The files for containers: what they say, and their commands without a container.

Here, the commands run as the Containerfile says: by a user without rights, on a file system that is
read-only but for /tmp. `test_compose.py` runs the containers.
"""

import json
import os
import re
import shlex
import ssl
import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import yaml
from django.conf import settings

from cartsvc.serving.server import GRACEFUL_TIMEOUT_SECONDS
from tests.machines.booted_machines import HOST, blocks
from tests.support.clusters import private_cluster
from tests.support.programs import ROOT, free_port, missing, program, running, wait_until

DEPLOY = ROOT / "cartsvc/deploy"
CONTAINERFILE = (DEPLOY / "Containerfile").read_text().replace("\\\n", "")
COMPOSE = yaml.safe_load((DEPLOY / "compose.yml").read_text())
PAGE = (DEPLOY / "README.md").read_text()
KUBERNETES = list(yaml.safe_load_all((DEPLOY / "kubernetes.yml").read_text()))
KINDS = {described["kind"]: described for described in KUBERNETES}
USER = "10001"
DOCUMENTED = set(
    re.findall(r"^\| `([A-Z_]+)` \|", (ROOT / "cartsvc/README.md").read_text(), re.MULTILINE)
)


def instruction(name: str) -> str:
    (value,) = re.findall(f"^{name} (.*)$", CONTAINERFILE, re.MULTILINE)
    return str(value)


HEALTH = json.loads(instruction("HEALTHCHECK").partition("CMD ")[2])


def test_compose_says_what_the_image_the_service_and_nginx_want() -> None:
    assert instruction("USER") == f"{USER}:{USER}"
    for name in ("migrate", "one", "two", "housekeeping"):
        described = COMPOSE["services"][name]
        rights = (described["read_only"], described["tmpfs"], described["cap_drop"])
        assert rights == (True, ["/tmp"], ["ALL"])
        if name in ("one", "two"):
            assert described["healthcheck"]["test"] == ["CMD", *HEALTH]
    services = COMPOSE["services"]
    assert all(service["logging"]["options"] for service in services.values())
    # Podman 4.3 waits for ever for a service that has ended already. podman-compose builds an image
    # as often as it is said to, all at once.
    assert not any("depends_on" in service for service in services.values())
    assert [name for name, service in services.items() if "build" in service] == ["migrate"]
    assert COMPOSE["x-service"]["extra_hosts"] == [f"database:{address('database')}"]
    for sources in re.findall(r"^COPY (.*) \S+$", CONTAINERFILE, re.MULTILINE):
        assert (ROOT / sources).exists()
    named = {name.removesuffix("_FILE") for name in COMPOSE["x-service"]["environment"]}
    assert named <= DOCUMENTED
    filled = set(re.findall(r"\$\{([A-Z_]+)\}", (DEPLOY / "nginx.conf").read_text()))
    assert COMPOSE["services"]["nginx"]["environment"].keys() == filled
    assert COMPOSE["x-service"]["environment"]["FORWARDED_ALLOW_IPS"] == address("nginx")
    assert all(service["mem_limit"] for service in COMPOSE["services"].values())


def address(name: str) -> str:
    return str(COMPOSE["services"][name]["networks"]["inside"]["ipv4_address"])


def test_compose_s_instances_are_found_again_where_they_were() -> None:
    """By nginx, which looks up no name later, and by the shipped Prometheus."""
    servers = COMPOSE["services"]["nginx"]["environment"]["SERVERS"]
    instances = ("one", "two")
    assert re.findall(r"server (\S+)", servers) == [f"{address(name)}:8000" for name in instances]
    published = [port for name in instances for port in COMPOSE["services"][name]["ports"]]
    asked = {each.rpartition(":")[0] for each in published}
    shipped = (DEPLOY / "prometheus.yml").read_text()
    scraped = yaml.safe_load(shipped.replace("# -", "-"))["scrape_configs"]
    jobs = {job["job_name"]: job["static_configs"][0]["targets"] for job in scraped}
    probed = [urlsplit(target).netloc for target in jobs["cartsvc-ready"]]
    assert asked == {*probed, *jobs["cartsvc"]}
    (port,) = COMPOSE["services"]["housekeeping"]["ports"]
    assert jobs["cartsvc-housekeeping"] == [f"{port.rpartition(':')[0]}/done"]


# What an operator may lay there, as the papers and habit have it.
SECRETS = [
    *("cartsvc/deploy/secrets/database_url", "cartsvc/deploy/certificates/privkey.pem"),
    *("cartsvc/secrets/secret_key", "cartsvc/privkey.pem", "carts/tls.key", "carts/backup.sqlite3"),
    *(".env", "cartsvc/.env", "cartsvc/deploy/.env", "var/secret_key"),
]


def sent(path: str) -> bool:
    """Return whether the ignore file lets the builder see a path: the last rule on it decides."""
    seen = True
    for rule in (ROOT / ".dockerignore").read_text().splitlines():
        pattern = re.escape(rule.lstrip("!")).replace(r"\*\*/", "(.*/)?").replace(r"\*", "[^/]*")
        if rule and not rule.startswith("#") and re.fullmatch(f"{pattern}(/.*)?", path):
            seen = rule.startswith("!")
    return seen


def layers() -> set[str]:
    """Return what the image has of the project and of what an operator may have laid there."""
    copied = re.findall(r"^COPY (\S+) ", CONTAINERFILE, re.MULTILINE)
    tracked = subprocess.check_output(["git", "ls-files", *copied], cwd=ROOT, text=True).split()
    return {path for path in [*tracked, *SECRETS] if sent(path)}


def test_the_image_has_what_the_service_needs_and_nothing_else() -> None:
    of_code = {".css", ".html", ".js", ".lock", ".py", ".svg", ".yaml"}
    tracked = subprocess.check_output(["git", "ls-files"], cwd=ROOT, text=True).split()
    wanted = {path for path in tracked if re.match("manage.py|carts/|cartsvc/(?!deploy/)", path)}
    assert layers() == {path for path in wanted if Path(path).suffix in of_code}


def test_no_secret_gets_into_the_image_or_the_repository() -> None:
    assert not layers() & set(SECRETS)
    refused = ["git", "check-ignore", "--no-index", *SECRETS]
    assert subprocess.check_output(refused, cwd=ROOT, text=True).split() == SECRETS
    build = (DEPLOY / COMPOSE["services"]["migrate"]["build"]["context"]).resolve()
    mounted = [volume.split(":")[0] for volume in COMPOSE["services"]["nginx"]["volumes"]]
    files = [secret["file"] for secret in COMPOSE["secrets"].values()]
    for file in {*files, *mounted} - {"./nginx.conf"}:
        assert not (DEPLOY / file).resolve().is_relative_to(build)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to another user")
def test_the_page_s_commands_make_the_secrets(tmp_path: Path) -> None:
    """Each of its own, of the user whom the service runs as, and for no other to read."""
    folder = tmp_path / "cartsvc"
    (commands,) = (block for block in blocks(PAGE, "Containers") if "secret()" in block)
    here = commands.replace("/etc/cartsvc", str(folder)).replace("/var/www", str(tmp_path))
    subprocess.run(["bash", "-eu"], input=f"SERVER_NAME={HOST}\n{here}", text=True, check=True)
    made = {}
    for name, secret in COMPOSE["secrets"].items():
        assert secret["file"] == f"/etc/cartsvc/{name}"
        described = (folder / name).stat()
        assert (described.st_uid, f"{described.st_mode & 0o777:o}") == (int(USER), "400")
        made[name] = (folder / name).read_text().strip()
    services = COMPOSE["services"]
    role = services["database"]["environment"]["POSTGRES_USER"]
    url = urlsplit(made.pop("database_url"))
    told = (url.scheme, url.username, url.hostname, url.path)
    assert told == ("postgres", role, "database", f"/{role}")
    assert url.password == made["database_password"]
    assert len(set(made.values())) == 3
    assert all(len(secret) >= 50 for secret in made.values())
    assert not folder.stat().st_mode & 0o077
    assert "/etc/cartsvc/certificates:/certificates:ro" in services["nginx"]["volumes"]
    certificate, key = (
        folder / "certificates" / Path(services["nginx"]["environment"][name]).name
        for name in ("CERTIFICATE", "CERTIFICATE_KEY")
    )
    ssl.create_default_context().load_cert_chain(certificate, key)
    assert not key.stat().st_mode & 0o077


def test_whoever_supervises_the_service_starts_it_again() -> None:
    """It ends with an error when its workers cannot be replaced."""
    unit = (DEPLOY / "cartsvc@.service").read_text()
    assert "\nRestart=always\n" in unit
    # systemd's own limit, five starts in ten seconds, would end it before the database is up.
    assert "\nStartLimitIntervalSec=0\n" in unit
    assert {COMPOSE["services"][name]["restart"] for name in ("one", "two")} == {"always"}
    pod = KINDS["Deployment"]["spec"]["template"]["spec"]
    assert pod["restartPolicy"] == "Always"


def test_kubernetes_takes_what_is_shipped() -> None:
    if not find_spec("kubernetes_validate"):
        missing("kubernetes-validate")
    kubernetes_validate = import_module("kubernetes_validate")
    for described in KUBERNETES:
        kubernetes_validate.validate(described, "1.31", strict=True)
    assert KINDS["ConfigMap"]["data"].keys() <= DOCUMENTED
    pod = KINDS["Deployment"]["spec"]["template"]["spec"]
    _, pause = pod["containers"][0]["lifecycle"]["preStop"]["exec"]["command"]
    assert pod["terminationGracePeriodSeconds"] >= int(pause) + 5 + GRACEFUL_TIMEOUT_SECONDS
    job = KINDS["Job"]["spec"]["template"]["spec"]
    cron = KINDS["CronJob"]["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    assert KINDS["ConfigMap"]["immutable"]
    configuration = {"configMapRef": {"name": KINDS["ConfigMap"]["metadata"]["name"]}}
    (secret,) = re.findall(r"kubectl create secret generic (\S+)", PAGE)
    for each in (pod, job, cron):
        assert each["securityContext"]["runAsNonRoot"]
        assert each["enableServiceLinks"] is False
        for container in each["containers"] + each.get("initContainers", []):
            assert container["securityContext"]["readOnlyRootFilesystem"]
            assert container["resources"]["limits"]["memory"]
            assert container["envFrom"] == [configuration, {"secretRef": {"name": secret}}]
    assert KINDS["Job"]["spec"]["activeDeadlineSeconds"]
    assert KINDS["CronJob"]["spec"]["jobTemplate"]["spec"]["activeDeadlineSeconds"] < 3600


def test_kubernetes_lets_in_callers_and_prometheus_alone() -> None:
    deployment, policy = KINDS["Deployment"]["spec"], KINDS["NetworkPolicy"]["spec"]
    labels = deployment["template"]["metadata"]["labels"]
    ports = {port["name"] for port in deployment["template"]["spec"]["containers"][0]["ports"]}
    assert policy["podSelector"]["matchLabels"] == labels
    assert {each["port"] for rule in policy["ingress"] for each in rule["ports"]} == ports
    assert all(rule["from"] for rule in policy["ingress"])
    monitor = yaml.safe_load((DEPLOY / "kubernetes-metrics.yml").read_text())["spec"]
    assert monitor["selector"]["matchLabels"] == labels
    assert labels[monitor["jobLabel"]] == "cartsvc"
    assert [each["port"] for each in monitor["podMetricsEndpoints"]] == ["metrics"]
    assert "metrics" in ports
    nginx = (DEPLOY / "nginx.conf").read_text()
    entries = [each for each in KUBERNETES if each["kind"] == "Ingress"]
    (size,) = re.findall(r"client_max_body_size (\S+);", nginx)
    (rate,) = re.findall(r"zone=cartsvc_password:1m rate=(\S+);", nginx)
    told = {
        key: value for each in entries for key, value in each["metadata"]["annotations"].items()
    }
    assert told["nginx.org/limit-req-rate"] == rate
    assert told["nginx.org/client-max-body-size"] == size
    for entry in entries:
        for path in entry["spec"]["rules"][0].get("http", {}).get("paths", []):
            assert path["backend"]["service"] == {
                "name": KINDS["Service"]["metadata"]["name"],
                "port": {"name": KINDS["Service"]["spec"]["ports"][0]["name"]},
            }


def test_the_most_pods_leave_postgresql_connections() -> None:
    deployment = KINDS["Deployment"]["spec"]
    (container,) = deployment["template"]["spec"]["containers"]
    connections = int(container["resources"]["limits"]["cpu"]) * (settings.THREADS + 2)
    most = KINDS["HorizontalPodAutoscaler"]["spec"]["maxReplicas"]
    most += deployment["strategy"]["rollingUpdate"]["maxSurge"]
    assert most * connections <= 97


def confined() -> list[str]:
    """Return what goes before a command: no rights, another user, and nothing to write but /tmp.

    One right is left, to read what is in root's own folders: Python or the clone may be there.
    """
    script = (
        f"mount --make-rprivate /; mount --bind -o ro {shlex.quote(str(ROOT))} /srv; cd /srv; "
        "mount --bind /tmp /tmp; mount -o remount,bind,ro /; "
        f"exec {program('setpriv')} --reuid={USER} --regid={USER} --clear-groups "
        "--bounding-set=-all,+dac_read_search --inh-caps=-all,+dac_read_search "
        '--ambient-caps=+dac_read_search --no-new-privs "$@"'
    )
    return [program("unshare"), "--mount", "sh", "-euc", script, "sh", sys.executable]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a file system read-only")
def test_the_commands_need_no_rights() -> None:
    program_, script = json.loads(instruction("ENTRYPOINT"))
    (command,) = json.loads(instruction("CMD"))
    assert program_ == HEALTH[0] == "python"
    port, here = free_port(), confined()
    ask = [part.replace("127.0.0.1:8000", f"127.0.0.1:{port}") for part in HEALTH[1:]]

    def healthy() -> bool:
        return subprocess.run([*here, *ask], capture_output=True, timeout=60).returncode == 0

    with private_cluster() as cluster:
        env = {
            "PATH": os.environ["PATH"],
            "DATABASE_URL": cluster.url(),
            "SECRET_KEY": "s3cret" * 10,
            "JWT_SIGNING_KEY": "an0ther" * 10,
            "BIND": f"127.0.0.1:{port}",
            "METRICS_BIND": f"127.0.0.1:{free_port()}",
        }
        subprocess.run([*here, script, "migrate", "--verbosity=0"], env=env, check=True)
        assert not healthy()
        with running([*here, script, command], env=env) as process:
            wait_until(healthy, 90)
        assert process.returncode == 0
