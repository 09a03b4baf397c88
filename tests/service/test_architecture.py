"""The structure of the project: its top level and the direction of imports."""

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings
from django.template.loader import get_template

ROOT = Path(settings.BASE_DIR)


def imported(module: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


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


# The only lines of the project that name the domain.
SAID_OF_CARTS = {
    ("apps.py", "class CartServiceConfig(AppConfig):"),
    (
        "envelope.py",
        'Source: the section "ApiResponse envelope" of the Cart Service v2.0 specification.',
    ),
    (
        "settings.py",
        """DATABASE_URL = env.str("DATABASE_URL", f"sqlite:///{VAR_DIR / 'carts.sqlite3'}")""",
    ),
    ("settings.py", '"carts",'),
    (
        "settings.py",
        'MAX_CART_OPTIONS = env.int("MAX_CART_OPTIONS", 1000, validate=between(1, 100_000))',
    ),
    ("urls.py", 'path("v2.0/", include("carts.urls")),'),
}


def test_the_project_knows_no_cart() -> None:
    """Neither an import nor a string names carts, except the project's own name."""
    said = {
        (path.name, line.strip())
        for path in (ROOT / "cartsvc").rglob("*")
        if path.suffix in {".py", ".html", ".conf", ".cfg", ".ini", ".yml", ".service"}
        for line in path.read_text().splitlines()
        if re.search("cart(?!svc)", line, re.IGNORECASE)
    }
    assert said == SAID_OF_CARTS


@pytest.mark.parametrize("page", ["400", "403", "403_csrf", "404", "429", "500", "503", "busy"])
def test_the_project_has_its_own_pages(page: str) -> None:
    assert get_template(f"{page}.html").origin.name == str(ROOT / f"cartsvc/templates/{page}.html")


def test_the_models_speak_no_http() -> None:
    modules = [*(ROOT / "carts/models").rglob("*.py"), ROOT / "carts/limits.py"]
    for path in modules:
        text = path.read_text()
        assert not re.search(r"If-Match|Idempotency-Key|[\"'/]/items", text), path
        for name in imported(path):
            assert not name.startswith(("django.http", "rest_framework")), (path, name)


def test_views_never_touch_a_transaction() -> None:
    assert not any("transaction" in name for name in imported(ROOT / "carts/views.py"))
