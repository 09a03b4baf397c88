"""What a command says when its output cannot be written, or not in UTF-8 by the locale."""

import json
import os
import subprocess
import sys
from collections.abc import Callable

import pytest
from django.core.management import get_commands

from tests.service.test_configuration import PUBLIC
from tests.support.callers import PROFILE
from tests.support.programs import ROOT, manage

# More than a pipe holds.
FILL = f"""
from tests.support.factories import CartFactory, ItemFactory
for _ in range(4):
    CartFactory(
        profile_key={str(PROFILE)!r},
        note="Ω\\u2028🍕",
        items=[ItemFactory(display_name="🍕" * 100) for _ in range(60)],
    )
"""
EXPORT = ("export_customer", str(PROFILE))
Start = Callable[..., subprocess.Popen[bytes]]


@pytest.fixture(scope="module")
def settings_of(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    url = f"sqlite:///{tmp_path_factory.mktemp('output') / 'carts.sqlite3'}"
    environment = {**PUBLIC, "DATABASE_URL": url, "JWT_REQUIRE_PROFILE": "false"}
    for command in (("migrate", "--verbosity=0"), ("shell", "--no-imports", "-c", FILL)):
        done = manage(*command, **environment)
        assert done.returncode == 0, done.stderr
    return environment


@pytest.fixture
def started(settings_of: dict[str, str]) -> Start:
    def start(*command: str, stdout: int, **more: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "manage.py", *command],
            cwd=ROOT,
            env={"PATH": os.environ["PATH"], **settings_of, **more},
            stdout=stdout,
            stderr=subprocess.PIPE,
        )

    return start


@pytest.mark.parametrize(
    "locale", [{"PYTHONIOENCODING": "latin-1:replace"}, {"LC_ALL": "POSIX", "PYTHONUTF8": "0"}]
)
def test_an_export_is_utf_8_whatever_the_locale(started: Start, locale: dict[str, str]) -> None:
    program = started(*EXPORT, stdout=subprocess.PIPE, **locale)
    written, _ = program.communicate(timeout=60)
    assert program.returncode == 0
    document = json.loads(written.decode("utf-8"))
    assert [cart["note"] for cart in document["carts"]] == ["Ω\u2028🍕"] * 4


# `serve` and `distribute` need more than a database. Django's own commands are of the same kind.
COMMANDS = [
    EXPORT,
    ("erase_customer", str(PROFILE), "--dry-run"),
    ("purge_carts",),
    ("recount_carts",),
    ("issue_token",),
    ("first_cart", "http://127.0.0.1:8000"),
    ("demo_carts",),
    ("migrate",),
    ("dumpdata", "--help"),
    ("serve", "--help"),
    ("distribute", "--help"),
    ("version",),
]


def test_no_command_is_forgotten() -> None:
    own = {name for name, app in get_commands().items() if app in {"carts", "cartsvc"}}
    assert own <= {name for name, *_ in COMMANDS}


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_output_that_cannot_be_written_is_one_sentence(
    started: Start, command: tuple[str, ...]
) -> None:
    reader, closed = os.pipe()
    os.close(reader)
    full = os.open("/dev/full", os.O_WRONLY)
    programs = {
        "Broken pipe": started(*command, stdout=closed),
        "No space left on device": started(*command, stdout=full),
    }
    os.close(closed)
    os.close(full)
    for why, program in programs.items():
        _, printed = program.communicate(timeout=60)
        assert printed.decode() == f"The output cannot be written: {why}.\n"
        assert program.returncode == 1
