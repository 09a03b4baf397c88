"""The house: what stands at the top, and which way imports run."""

import ast
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings

ROOT = Path(settings.BASE_DIR)


def imported(module: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def modules(folder: str) -> list[Path]:
    return sorted((ROOT / folder).rglob("*.py"))


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
    assert {name for name in top if not name.startswith(".")} == {
        "cartsvc",
        "carts",
        "tests",
        "manage.py",
        "requirements.txt",
        "pytest.ini",
        "README.md",
    }


def test_the_project_never_imports_the_domain() -> None:
    found = {
        (module.name, name)
        for module in modules("cartsvc")
        for name in imported(module)
        if name.split(".")[0] == "carts"
    }
    assert found == set()


LAYERS = ("validators", "models", "fields", "serializers", "views", "openapi", "urls")


@pytest.mark.parametrize("layer", LAYERS)
def test_imports_point_one_way(layer: str) -> None:
    """A module imports what stands before it in LAYERS, never what stands after."""
    module = ROOT / "carts" / f"{layer}.py"
    found = modules(f"carts/{layer}") if not module.exists() else [module]
    above = LAYERS[LAYERS.index(layer) + 1 :]
    assert found
    for path in found:
        for name in imported(path):
            parts = name.split(".")
            assert not (parts[0] == "carts" and parts[1:] and parts[1] in above), (path, name)


def test_views_never_touch_a_transaction() -> None:
    assert not any("transaction" in name for name in imported(ROOT / "carts/views.py"))
