"""The structure of the project: its top level, and which module may import which."""

import subprocess
import sys
from pathlib import Path

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


def test_no_module_imports_what_it_must_not_know() -> None:
    command = [Path(sys.executable).with_name("lint-imports"), "--no-cache", "--no-logo"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
