"""The mode of a SQLite database's file. chaos/ has two migrations of PostgreSQL at once."""

import os
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.programs import manage


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """Return the path of a database that does not exist, in a folder that anybody may read."""
    tmp_path.chmod(0o755)
    return tmp_path / "new.sqlite3"


@pytest.fixture(autouse=True)
def usual_mode() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def test_a_file_that_the_service_makes_is_its_users_only(database: Path) -> None:
    migrated = manage("migrate", DATABASE_URL=f"sqlite:///{database}")
    assert migrated.returncode == 0, migrated.stderr
    with closing(sqlite3.connect(database)) as reader:  # creates the -wal and the -shm
        reader.execute("SELECT count(*) FROM django_migrations").fetchone()
        modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in database.parent.iterdir()}
    assert modes == dict.fromkeys(["new.sqlite3", "new.sqlite3-wal", "new.sqlite3-shm"], 0o600)


def test_a_file_that_was_there_keeps_its_mode(database: Path) -> None:
    database.touch(0o640)
    migrated = manage("migrate", DATABASE_URL=f"sqlite:///{database}")
    assert migrated.returncode == 0, migrated.stderr
    assert stat.S_IMODE(database.stat().st_mode) == 0o640
