"""Two migrations of one SQLite database at once, and its file's mode. chaos/ has PostgreSQL."""

import os
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db.utils import ConnectionHandler

from tests.support.programs import wait_until


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """Return the path of a database that does not exist, in a folder that anybody may read."""
    tmp_path.chmod(0o755)
    return tmp_path / "new.sqlite3"


def migrating(database: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "manage.py", "migrate", "--noinput"],
        cwd=settings.BASE_DIR,
        env={"PATH": os.environ["PATH"], "DATABASE_URL": f"sqlite:///{database}"},
        umask=0o022,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def test_one_of_two_migrations_waits_for_the_other(database: Path) -> None:
    both = [migrating(database) for _ in range(2)]
    printed = [process.communicate(timeout=60)[0] for process in both]
    assert [process.returncode for process in both] == [0, 0], printed
    assert sorted("No migrations to apply" in text for text in printed) == [False, True]


def test_a_migration_that_waits_has_done_nothing_yet(database: Path) -> None:
    with connection_to(database).migrating():
        process = migrating(database)
        wait_until(lambda: waits_for_a_lock(process.pid))
        assert not database.exists() or database.stat().st_size == 0
    printed, _ = process.communicate(timeout=60)
    assert process.returncode == 0, printed


def connection_to(database: Path, **options: Any) -> Any:
    return ConnectionHandler(
        {"default": {"ENGINE": "cartsvc.db.sqlite", "NAME": str(database), "OPTIONS": options}}
    ).create_connection("default")


def waits_for_a_lock(pid: int) -> bool:
    return any(
        "-> FLOCK" in line and str(pid) in line.split()
        for line in Path("/proc/locks").read_text().splitlines()
    )


def test_a_file_that_the_service_makes_is_its_users_only(database: Path) -> None:
    process = migrating(database)
    printed, _ = process.communicate(timeout=60)
    assert process.returncode == 0, printed
    with closing(sqlite3.connect(database)) as reader:  # creates the -wal and the -shm
        reader.execute("SELECT count(*) FROM django_migrations").fetchone()
        modes = {
            file.name: stat.filemode(file.stat().st_mode) for file in database.parent.iterdir()
        }
    assert {"new.sqlite3", "new.sqlite3-wal", "new.sqlite3-shm"} <= modes.keys()
    assert set(modes.values()) == {"-rw-------"}


def test_a_file_that_was_there_keeps_its_mode(database: Path) -> None:
    database.touch()
    database.chmod(0o640)
    process = migrating(database)
    printed, _ = process.communicate(timeout=60)
    assert process.returncode == 0, printed
    assert stat.S_IMODE(database.stat().st_mode) == 0o640
