"""`manage.py serve` for a newcomer: a copy of the project with nothing configured."""

import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from io import StringIO
from pathlib import Path
from secrets import token_urlsafe
from string import Template
from typing import Any
from urllib.parse import quote

import pytest
import requests
from django.conf import settings
from django.core.management import call_command
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from pytest_django import Settings

from carts.openapi.example_cart import example_cart
from tests.support.answers import errors_of
from tests.support.callers import PROFILE
from tests.support.operations import IN_TURN, REQUESTS
from tests.support.programs import accepts, copied, free_port, manage, program, wait_until


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    return copied(tmp_path)


@contextmanager
def serving(
    clone: Path,
    port: int,
    *options: str,
    stop: Callable[[subprocess.Popen[bytes]], None] = subprocess.Popen.terminate,
    program: Sequence[str] = ("manage.py",),
    **environment: str,
) -> Iterator[str]:
    """Start the server, wait until it listens, and yield what it has printed."""
    printed = clone / "printed.txt"
    with printed.open("w") as out:
        process = subprocess.Popen(
            [sys.executable, *program, "serve", "--bind", f"127.0.0.1:{port}", *options],
            cwd=clone,
            env={"PATH": os.environ["PATH"], **environment},
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

        def listens() -> bool:
            assert process.poll() is None, printed.read_text()
            # A worker says that it has started just before it listens.
            return "Started worker" in printed.read_text() and accepts(port)

        try:
            wait_until(listens, 120)
            yield printed.read_text()
        finally:
            stop(process)
            assert process.wait(120) == 0


def run_curl(line: str, variables: dict[str, str]) -> Any:
    """Send the request of the printed `curl -sw … URL -H … -d …`, which needs no curl installed."""
    _, _, _, url, *words = shlex.split(Template(line).substitute(variables))
    options = list(zip(words[::2], words[1::2], strict=True))
    headers = dict(value.split(": ") for option, value in options if option == "-H")
    data = next((value.encode() for option, value in options if option == "-d"), None)
    return requests.request("POST" if data else "GET", url, headers=headers, data=data).json()


def test_first_cart_with_the_printed_lines(clone: Path) -> None:
    port = free_port()
    with serving(clone, port) as printed:
        given = dict(re.findall("^(PROFILE|TOKEN|CARTS)=(.+)$", printed, re.MULTILINE))
        given["CARTS"] = Template(given["CARTS"]).substitute(given)
        lines = re.findall(r"^curl (?:.*\\\n)*.*$", printed, re.MULTILINE)
        create, show = lines
        created = run_curl(create.replace("\\\n", " "), given)
        assert created["message"] == "The cart was created."
        shown = run_curl(show, given)
        (cart,) = shown["data"]["carts"]
        assert cart["cartId"] == created["data"]["cartId"]
        assert cart["itemCount"] == 1
    # The page fills in the document's examples: with what the token opens.
    assert given["PROFILE"] == str(example_cart()["keys"]["profileKey"])
    assert given["PROFILE"] in (settings.BASE_DIR / "README.md").read_text()

    var = clone / "var"
    assert var.stat().st_mode & 0o777 == 0o700
    secrets = {name: (var / name).read_text() for name in ("secret_key", "jwt_signing_key")}
    assert all((var / name).stat().st_mode & 0o777 == 0o600 for name in secrets)
    assert len(set(secrets.values())) == 2

    # A second start reads the same secrets, so the first token still opens the cart.
    with serving(clone, port):
        assert run_curl(show, given)["data"]["carts"] == [cart]
    assert {name: (var / name).read_text() for name in secrets} == secrets


def pasted(text: str) -> str:
    """Return what a terminal shows when somebody pastes a text into its shell."""
    program("curl")
    terminal, end = os.openpty()
    with subprocess.Popen(
        [program("bash"), "--norc", "-i"],
        stdin=end,
        stdout=end,
        stderr=end,
        env={"PATH": os.environ["PATH"], "PS1": "prompt> ", "TERM": "dumb"},
        start_new_session=True,
    ):
        os.close(end)
        os.write(terminal, f"{text}\nexit\n".encode())
        shown = b""
        with suppress(OSError):  # Linux says so at the end
            while part := os.read(terminal, 4096):
                shown += part
    os.close(terminal)
    return shown.decode().replace("\r", "")


def test_all_that_is_printed_can_be_pasted(clone: Path) -> None:
    with serving(clone, free_port()) as printed:
        whole = "".join(re.findall(r"(?m)^(?!{).*\n", printed))  # all but the log
        shown = pasted(whole)
    assert "not found" not in shown
    assert "syntax error" not in shown
    answers = re.findall(r"(?m)^(?:prompt> )?({.+})$", shown)
    assert [json.loads(answer)["message"] for answer in answers] == [
        "The cart was created.",
        "The carts were found.",
    ]


def test_the_printed_token_tries_every_operation_of_the_page(clone: Path) -> None:
    port = free_port()
    with serving(clone, port) as printed:
        url = f"http://127.0.0.1:{port}"
        document = requests.get(f"{url}/v2.0/openapi.json").json()
        (token,) = re.findall("^TOKEN=(.+)$", printed, re.MULTILINE)
        ids, said = {**example_cart()["keys"]}, {}
        for name in ("Create Cart", *IN_TURN, "List Carts", "List Changes"):
            _, method, path, _ = REQUESTS[name]
            body = document["paths"][path][method.lower()].get("requestBody")
            example = body and body["content"]["application/json"]["example"]
            answer = requests.request(
                method,
                url + path.format(**ids),
                json=example,
                headers={"Authorization": f"Bearer {token}"},
            ).json()
            said[name] = answer["message"]
            ids |= answer.get("data", {})
            ids |= example if name == "Move Cart" else {}
    assert said == {name: REQUESTS[name].operation.message for name in said}


def sign_in(port: int, password: str) -> str:
    """Sign in as the first account and return the page of carts."""
    url = f"http://127.0.0.1:{port}"
    with requests.Session() as browser:
        page = browser.get(f"{url}/admin/carts/cart/").text
        token = re.search(r'csrfmiddlewaretoken" value="([^"]+)', page)[1]
        sent = {"username": "admin", "password": password, "csrfmiddlewaretoken": token}
        sent["next"] = "/admin/carts/cart/"
        return browser.post(f"{url}/admin/login/", sent).text


def test_the_first_account_of_the_desk_is_made_once(clone: Path) -> None:
    port = free_port()
    with serving(clone, port) as printed:
        (password,) = re.findall("^PASSWORD=(.{16})$", printed, re.MULTILINE)
        assert "There are no carts." in sign_in(port, password)
    with serving(clone, port, "--demo") as printed:
        assert "PASSWORD" not in printed
        assert "120 carts were made" in printed
        assert "Older →" in sign_in(port, password)
    with serving(clone, port, "--demo") as printed:
        assert "There are carts already, so no others were made." in printed


def test_given_secrets_need_no_folder_made_before_and_no_token_is_printed(clone: Path) -> None:
    keys = {"SECRET_KEY": token_urlsafe(60), "JWT_SIGNING_KEY": token_urlsafe(60)}
    port = free_port()
    with serving(clone, port, **keys, THREADS="100") as printed:
        assert "TOKEN" not in printed
        assert "curl" not in printed
        assert "WARNING" not in printed
        # Its name is that of where it listens.
        names = {json.loads(line)["instance"] for line in printed.splitlines()}
        assert names == {f"{socket.gethostname()}:{port}"}
    var = clone / "var"
    assert var.stat().st_mode & 0o777 == 0o700
    assert [file.name for file in var.iterdir()] == ["carts.sqlite3"]


def test_a_database_that_was_moved_away_is_not_made_anew(clone: Path) -> None:
    port, path = free_port(), clone / "file:a#% ?b.sqlite3"
    away = path.with_suffix(".away")
    with serving(clone, port, DATABASE_URL=f"sqlite:///{quote(path.name)}", WEB_CONCURRENCY="1"):
        token = manage("issue_token", program=[f"{clone}/manage.py"]).stdout.strip()
        carts = f"http://127.0.0.1:{port}/v2.0/customers/{PROFILE}/carts"
        list_carts = partial(requests.get, carts, headers={"Authorization": f"Bearer {token}"})
        path.rename(away)  # before any thread of the worker has connected
        refused = list_carts()
        assert (refused.status_code, errors_of(refused)) == (503, [("unavailable", None)])
        assert requests.get(f"http://127.0.0.1:{port}/readyz").status_code == 503
        assert not path.exists()
        away.rename(path)
        assert list_carts().status_code == 200
        path.rename(away)
    assert not path.exists()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("public", [False, True])
def test_a_public_service_prints_no_password(
    started: list[Any], settings: Settings, public: bool
) -> None:
    settings.IS_PUBLIC, settings.JWT_KEY_GENERATED = public, True
    printed = StringIO()
    call_command("serve", f"--bind=127.0.0.1:{free_port()}", stdout=printed)
    assert ("PASSWORD" in printed.getvalue()) == (not public)


@pytest.mark.django_db(transaction=True)
def test_a_configured_database_is_not_migrated(started: list[Any], settings: Settings) -> None:
    settings.EMBEDDED = settings.JWT_KEY_GENERATED = False
    (latest,) = MigrationLoader(connection).graph.leaf_nodes("carts")
    recorder, complaint = MigrationRecorder(connection), StringIO()
    recorder.record_unapplied(*latest)
    try:
        call_command("serve", f"--bind=127.0.0.1:{free_port()}", stderr=complaint)
    finally:
        recorder.record_applied(*latest)

    assert "migrations are not applied: run manage.py migrate" in complaint.getvalue()


@pytest.mark.parametrize("given", [["--port", "8001"], ["8001"]], ids=str)
def test_an_address_as_other_servers_take_it_names_bind(given: list[str]) -> None:
    ended = manage("serve", *given)
    assert ended.returncode != 0
    assert "usage: manage.py serve [-h] [--bind HOST:PORT]" in ended.stderr
    assert f"unrecognized arguments: {' '.join(given)}" in ended.stderr


def test_what_is_no_setting_is_told_once_at_the_start(clone: Path) -> None:
    keys = {"SECRET_KEY": token_urlsafe(60), "JWT_SIGNING_KEY": token_urlsafe(60)}
    with serving(clone, free_port(), **keys, THREDS="3") as printed:
        assert printed.count("THREDS is no setting.") == 1


def test_ctrl_c_stops_at_once(clone: Path) -> None:
    """Without a drain. A terminal sends it to the workers, too."""

    def press(process: subprocess.Popen[bytes]) -> None:
        os.killpg(process.pid, signal.SIGINT)
        process.wait(25)

    (clone / "drains.py").write_text("from cartsvc.settings import *\nDRAIN_SECONDS = 600\n")
    env = {"WEB_CONCURRENCY": "2", "DJANGO_SETTINGS_MODULE": "drains"}
    with serving(clone, free_port(), stop=press, **env):
        printed = clone / "printed.txt"
        wait_until(lambda: printed.read_text().count("Started worker") == 2)


# What only Linux has.
LIKE_A_MAC = """
import fcntl, os, runpy, select
del os.sched_getaffinity, fcntl.F_SETPIPE_SZ, select.epoll
runpy.run_path("manage.py", run_name="__main__")
"""


def test_it_starts_without_what_only_linux_has(clone: Path) -> None:
    with serving(clone, free_port(), program=("-c", LIKE_A_MAC)) as printed:
        assert "TOKEN=" in printed
    with serving(
        clone, free_port(), program=("-c", LIKE_A_MAC), METRICS_BIND=f"127.0.0.1:{free_port()}"
    ):
        pass


@pytest.mark.parametrize("ignored", [True, False])
def test_who_starts_it_with_nohup_may_close_the_terminal(clone: Path, ignored: bool) -> None:
    def hang_up(process: subprocess.Popen[bytes]) -> None:
        status = Path(f"/proc/{process.pid}/status").read_text()
        mask = int(re.search(r"^SigIgn:\s*(\w+)$", status, re.MULTILINE)[1], 16)
        assert bool(mask >> (signal.SIGHUP - 1) & 1) == ignored
        process.terminate()

    before = signal.signal(signal.SIGHUP, signal.SIG_IGN if ignored else signal.SIG_DFL)
    try:
        with serving(clone, free_port(), stop=hang_up):
            pass
    finally:
        signal.signal(signal.SIGHUP, before)
