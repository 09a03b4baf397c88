"""The mode of a SQLite database's file. chaos/ has two migrations of PostgreSQL at once."""

import os
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from django.conf import settings


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
