"""Copies of the project that tests change."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.programs import ROOT

# What no recipe needs, nor a clean clone has.
LEFT_OUT = shutil.ignore_patterns(".git", ".venv", ".*_cache", "__pycache__", "node_modules", "var")

Run = Callable[..., str]


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Return the folder of a copy of the project."""
    return Path(shutil.copytree(ROOT, tmp_path / "copy", ignore=LEFT_OUT))


@pytest.fixture
def run(copy: Path) -> Run:
    """Return a function that runs a command in the copy, and must succeed."""
    env = {name: value for name, value in os.environ.items() if name in {"PATH", "HOME", "LANG"}}

    def run(*command: object, sent: str = "", **variables: str) -> str:
        done = subprocess.run(
            list(map(str, command)),
            cwd=copy,
            env=env | variables,
            input=sent,
            capture_output=True,
            text=True,
            timeout=600,
        )
        assert done.returncode == 0, f"{done.stderr}{done.stdout[-4000:]}"
        return done.stdout

    return run
