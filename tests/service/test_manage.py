"""What `manage.py` says when the database cannot be used."""

from pathlib import Path

import pytest

from tests.service.test_configuration import PUBLIC as RIGHT
from tests.support.programs import free_port, manage

COMMANDS = [
    ("migrate",),
    ("recount_carts",),
    ("purge_carts", "--older-than", "30d"),
    ("demo_carts",),
    ("createsuperuser", "--noinput", "--username", "anna", "--email", "a@example.com"),
    ("changepassword", "anna"),
    ("check", "--database", "default"),
]


def refused(url: str, *command: str) -> str:
    """Run a command, which must fail without a traceback. Return what it says."""
    done = manage(*command, **{**RIGHT, "DATABASE_URL": url})
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    return done.stdout + done.stderr


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_a_database_that_does_not_answer_is_told(command: tuple[str, ...]) -> None:
    told = refused(f"postgres://cartsvc:s3cret@127.0.0.1:{free_port()}/cartsvc", *command)
    assert told.count("The database cannot be used: ") == 1
    assert "Connection refused" in told
    assert "s3cret" not in told


@pytest.mark.parametrize("command", COMMANDS[1:4], ids=lambda command: command[0])
def test_a_database_without_tables_is_told(tmp_path: Path, command: tuple[str, ...]) -> None:
    told = refused(f"sqlite:///{tmp_path / 'empty.sqlite3'}", *command)
    assert "The database cannot be used: no such table" in told
    assert "manage.py migrate" in told


def test_a_traceback_can_be_asked_for() -> None:
    url = f"postgres://cartsvc@127.0.0.1:{free_port()}/cartsvc"
    done = manage("recount_carts", "--traceback", **{**RIGHT, "DATABASE_URL": url})
    assert "Traceback" in done.stderr
