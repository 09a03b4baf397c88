"""The structure of the project: its top level."""

import subprocess

import pytest

from tests.support.programs import ROOT


def test_top_level_is_the_agreed_one() -> None:
    tracked = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    if tracked.returncode != 0:
        pytest.skip("not a git checkout")
    top = {line.split("/")[0] for line in tracked.stdout.splitlines()}
    agreed = "README.md carts cartsvc manage.py pytest.ini requirements.txt tests"
    assert sorted(name for name in top if not name.startswith(".")) == agreed.split()
