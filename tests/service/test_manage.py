"""What `manage.py` says when the database or Django cannot be used."""

import re
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from cartsvc import __version__
from tests.service.test_configuration import PUBLIC as RIGHT
from tests.support.programs import ROOT, free_port, manage

COMMANDS = [
    ("recount_carts",),
    ("export_customer", "0f8fad5b-d9cb-469f-a165-70867728950e"),
    ("changepassword", "anna"),
    ("check", "--database", "default"),
]


def refused(url: str, *command: str) -> str:
    """Run a command, which must fail without a traceback. Return what it prints."""
    # The usual address may be taken by a service that runs.
    env = {**RIGHT, "DATABASE_URL": url, "BIND": f"127.0.0.1:{free_port()}"}
    done = manage(*command, **env)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    return done.stdout + done.stderr


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_a_database_that_does_not_answer(command: tuple[str, ...]) -> None:
    printed = refused(f"postgres://cartsvc:s3cret@127.0.0.1:{free_port()}/cartsvc", *command)
    assert printed.count("The database cannot be used: ") == 1
    assert "Connection refused" in printed
    assert "s3cret" not in printed


@pytest.mark.parametrize("command", COMMANDS[1:3], ids=lambda command: command[0])
def test_a_database_without_tables(tmp_path: Path, command: tuple[str, ...]) -> None:
    printed = refused(f"sqlite:///{tmp_path / 'empty.sqlite3'}", *command)
    assert "The database is not migrated (no such table" in printed
    assert "run manage.py migrate" in printed


def test_a_mistake_in_the_shell_has_its_traceback(tmp_path: Path) -> None:
    """SQLite tells of a mistake as of an outage."""
    env = {**RIGHT, "DATABASE_URL": f"sqlite:///{tmp_path / 'migrated.sqlite3'}"}
    assert manage("migrate", "--verbosity=0", **env).returncode == 0
    for sql in ("SELEC 1", "SELECT nothing FROM carts_cart", "SELECT 1 FROM no"):
        code = f"from django.db import connection; connection.cursor().execute({sql!r})"
        done = manage("shell", "--no-imports", "-c", code, **env)
        assert "Traceback" in done.stderr
        assert "cannot be used" not in done.stderr


def test_dumpdata_of_carts_names_the_backup(db: None) -> None:
    """What it wrote, loaddata refused."""
    written = StringIO()
    for labels in ([], ["carts"], ["auth", "carts.Cart"]):
        with pytest.raises(CommandError, match=r"^Add --exclude carts\. ") as told:
            call_command("dumpdata", *labels, stdout=written)
    assert not written.getvalue()
    [[heading, page]] = re.findall(r'"(.+)" in (.+)\.$', str(told.value))
    assert f"\n## {heading}\n" in (ROOT / page).read_text()
    for labels in (["auth.Group"], ["--exclude", "carts"]):
        call_command("dumpdata", *labels, stdout=(written := StringIO()))
        assert "Cart support lead" in written.getvalue()


def test_a_missing_django_is_named() -> None:
    done = manage("serve", program=("-S", "manage.py"))
    assert (done.returncode, done.stdout) == (1, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("Django is missing: run pip install -r cartsvc/requirements.txt")


@pytest.mark.parametrize("asked", ["version", "--version"])
def test_the_version_is_that_of_the_service(asked: str) -> None:
    done = manage(asked)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{__version__}\n", "")


def test_the_api_document_does_not_depend_on_the_locale(tmp_path: Path) -> None:
    ascii_only = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    file = tmp_path / "openapi.yaml"
    done = manage("spectacular", "--file", str(file), **RIGHT, **ascii_only)
    assert (done.returncode, done.stderr) == (0, "")
    assert file.read_text("utf-8").startswith("openapi: 3.1")


@pytest.mark.parametrize("labels", [(), ("tests.api",), ("--parallel", "2")], ids=" ".join)
def test_the_test_command_names_pytest(labels: tuple[str, ...]) -> None:
    done = manage("test", *labels)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("The tests run with pytest, such as .venv/bin/pytest tests/api")
