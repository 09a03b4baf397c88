"""The mode of a SQLite database's file, which the first command makes."""

import os
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.programs import manage


@pytest.fixture(autouse=True)
def usual_mode() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.mark.parametrize("mode", [0o600, 0o640], ids=["made by the service", "there before"])
def test_a_new_file_is_its_users_only_and_an_old_one_keeps_its_mode(
    tmp_path: Path, mode: int
) -> None:
    tmp_path.chmod(0o755)  # anybody may read the folder
    database = tmp_path / "new.sqlite3"
    if mode != 0o600:
        database.touch(mode)
    migrated = manage("migrate", DATABASE_URL=f"sqlite:///{database}")
    assert migrated.returncode == 0, migrated.stderr
    with closing(sqlite3.connect(database)) as reader:  # creates the -wal and the -shm
        reader.execute("SELECT count(*) FROM django_migrations").fetchone()
        modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()}
    assert modes == dict.fromkeys(["new.sqlite3", "new.sqlite3-wal", "new.sqlite3-shm"], mode)
