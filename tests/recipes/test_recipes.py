"""The recipes of tests/README.md, each applied to a copy of the project, which passes its tests."""

import re
import sys
from pathlib import Path

import pytest

from tests.recipes.conftest import Run
from tests.support.programs import ROOT, program

HERE = Path(__file__).parent


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


def test_a_field_of_an_item(run: Run, copy: Path) -> None:
    apply(run, "field")
    run(sys.executable, "manage.py", "makemigrations", "carts", "-n", "external_reference")
    migration = copy / "carts/migrations/0002_external_reference.py"
    written = migration.read_text().replace(
        "migrations.AddConstraint", "cartsvc.db.migration_operations.AddCheck"
    )
    migration.write_text(f"import cartsvc.db.migration_operations\n{written}")
    run(sys.executable, "manage.py", "makemigrations", "--check")
    passes(run, "tests/api", "-k", "externalReference or test_openapi or test_examples")
    passes(
        run,
        *(f"tests/models/test_{name}.py" for name in ("constraints", "migrations")),
        *(f"tests/desk/test_{name}.py" for name in ("fields", "put_back")),
    )
