"""The structure of the project: its top level, and that it names no domain."""

import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from django.conf import settings

ROOT = Path(settings.BASE_DIR)


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


# How many lines of the project name the domain: only these, such as the table of settings.
SAID_OF_CARTS = {
    "apps.py": 1,
    "envelope.py": 1,
    "serve.py": 5,
    "settings.py": 11,
    "cartsvc-housekeeping.service": 1,
    "compose.yml": 2,
    "kubernetes.yml": 5,
    "prometheus.yml": 1,
}


def test_the_project_knows_no_cart() -> None:
    """Neither an import nor a string names carts, except the project's own name."""
    said = Counter(
        path.name
        for path in (ROOT / "cartsvc").rglob("*")
        if path.suffix in {".py", ".html", ".conf", ".cfg", ".ini", ".yml", ".service"}
        for line in path.read_text().splitlines()
        if re.search("cart(?!svc)", line, re.IGNORECASE)
    )
    assert said == SAID_OF_CARTS
