"""A public name of the code stands for one thing."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from django.conf import settings

ROOT = Path(settings.BASE_DIR)

# What Django, the framework and Python ask for: a name that they look up, or call.
ASKED_FOR = {
    *("Meta", "Command", "Migration", "DatabaseWrapper", "application", "urlpatterns", "logger"),
}

Definition = ast.ClassDef | ast.FunctionDef


def modules() -> Iterator[tuple[Path, ast.Module]]:
    for folder in ("carts", "cartsvc"):
        for path in (ROOT / folder).rglob("*.py"):
            if "migrations" not in path.parts:
                yield path.relative_to(ROOT), ast.parse(path.read_text("utf-8"))


def definitions() -> Iterator[tuple[str, str]]:
    """Yield each public name with where it is defined. An override is the same thing again."""
    for path, module in modules():
        for node in module.body:
            match node:
                case ast.ClassDef() | ast.FunctionDef():
                    yield node.name, str(path)
                case ast.Assign(targets=targets):
                    for target in targets:
                        for name in ast.walk(target):
                            if isinstance(name, ast.Name):
                                yield name.id, str(path)
                case ast.AnnAssign(target=ast.Name(id=name)):
                    yield name, str(path)


def methods() -> Iterator[tuple[str, str, str]]:
    for path, module in modules():
        for node in ast.walk(module):
            if isinstance(node, ast.ClassDef):
                for member in node.body:
                    if isinstance(member, ast.FunctionDef):
                        yield member.name, node.name, str(path)


def test_a_public_name_stands_for_one_thing() -> None:
    found = defaultdict(list)
    for name, where in definitions():
        if not name.startswith("_") and name not in ASKED_FOR:
            found[name].append(where)
    for name, owner, where in methods():
        if not name.startswith("_") and name not in ASKED_FOR:
            found[name].append(f"{where}:{owner}")
    assert {name: places for name, places in found.items() if len(places) > 1} == {}
