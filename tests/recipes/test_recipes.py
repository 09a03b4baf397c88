"""The recipes of tests/README.md, each applied to a copy of the project, which passes its tests."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.programs import ROOT, program

HERE = Path(__file__).parent
# What no recipe needs, nor a clean clone has.
LEFT_OUT = shutil.ignore_patterns(".git", ".venv", ".*_cache", "__pycache__", "node_modules", "var")

Run = Callable[..., str]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Return a function that runs a command in a copy of the project, and must succeed."""
    copy = shutil.copytree(ROOT, tmp_path / "copy", ignore=LEFT_OUT)
    env = {name: value for name, value in os.environ.items() if name in {"PATH", "HOME", "LANG"}}

    def run(*command: object) -> str:
        done = subprocess.run(
            list(map(str, command)), cwd=copy, env=env, capture_output=True, text=True, timeout=600
        )
        assert done.returncode == 0, f"{done.stderr}{done.stdout[-4000:]}"
        return done.stdout

    return run


def files_of(recipe: str) -> list[str]:
    """Return the files that the recipe's patch changes or makes."""
    return re.findall(r"^\+\+\+ b/(.+)$", (HERE / f"{recipe}.patch").read_text(), re.MULTILINE)


def apply(run: Run, recipe: str) -> None:
    """Apply the recipe's patch. If its place has moved, git names the file."""
    run(program("git"), "apply", "-C1", HERE / f"{recipe}.patch")


def passes(run: Run, *arguments: str) -> None:
    run(sys.executable, "-m", "pytest", "-n", "0", "-q", *arguments)


@pytest.mark.parametrize("recipe", sorted(patch.stem for patch in HERE.glob("*.patch")))
def test_the_page_names_every_file_of_a_recipe(recipe: str) -> None:
    page = (ROOT / "tests/README.md").read_text()
    (section,) = (one for one in page.split("\n### ") if f"(recipes/{recipe}.patch)" in one)
    assert [name for name in files_of(recipe) if f"`{name}`" not in section] == []


def test_an_operation(run: Run) -> None:
    apply(run, "operation")
    names = ("duplicate_item", "examples", "if_match", "openapi", "ownership", "representation")
    passes(run, *(f"tests/api/test_{name}.py" for name in names))
    passes(run, *(f"tests/models/test_{name}.py" for name in ("history", "queries")))


def test_a_list_of_carts_at_the_desk(run: Run) -> None:
    apply(run, "list_page")
    passes(run, *(f"tests/desk/test_{name}.py" for name in ("checkouts", "roles")))


def test_a_field_of_an_item(run: Run, tmp_path: Path) -> None:
    apply(run, "field")
    run(sys.executable, "manage.py", "makemigrations", "carts", "-n", "external_reference")
    migration = tmp_path / "copy/carts/migrations/0002_external_reference.py"
    written = migration.read_text().replace(
        "migrations.AddConstraint", "cartsvc.db.migration_operations.AddCheck"
    )
    migration.write_text(f"import cartsvc.db.migration_operations\n{written}")
    run(sys.executable, "manage.py", "makemigrations", "--check")
    passes(run, "tests/api", "-k", "externalReference or test_openapi or test_examples")
    passes(
        run,
        *(f"tests/models/test_{name}.py" for name in ("constraints", "migrations", "null_columns")),
        *(f"tests/desk/test_{name}.py" for name in ("fields", "put_back")),
    )
