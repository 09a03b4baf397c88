"""A public name of the code stands for one thing, and so does one of another case."""

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

from django.conf import settings

# What Django, the framework and the libraries look up by its name, or call.
HOOKS = {
    *("Command", "DatabaseWrapper", "LOGGING", "User", "logger", "urlpatterns"),
    *(
        "add_arguments",
        "handle",
        "ready",
        "get_queryset",
        "get_urls",
        "history_view",
        "dispatch",
        "get",
        "post",
    ),
    *(
        "initial",
        "initialize_request",
        "get_fields",
        "validate",
        "to_python",
        "clean",
    ),
    *("as_sql", "database_forwards", "database_backwards", "get_new_connection", "format"),
    *("filter", "delete", "save", "update", "create", "destroy", "partial_update"),
}

# The same of several: an operation on the view, the manager, a cart and an item; the status of a
# cart, read or locked; the author of a change or a deletion; what was and what is; the value, the
# key and the address of what has one; what is held, found, changed or wrong; to run, send, read,
# add or check something.
SHARED = {
    *("add_item", "add_items", "replace_items", "delete_cart", "change", "close", "reopen", "move"),
    *("status", "author", "old", "new", "value", "key", "url"),
    *("items", "carts", "changes", "errors"),
    *("run", "send", "read", "add", "check"),
}


class Definition(NamedTuple):
    name: str
    module: str
    owner: str | None = None  # the class of a method, or the record of a member
    is_member: bool = False


def is_record(node: ast.ClassDef) -> bool:
    says = map(ast.unparse, (*node.bases, *node.decorator_list))
    return any("NamedTuple" in one or "dataclass" in one for one in says)


def names_in(target: ast.expr) -> set[str]:
    return {node.id for node in ast.walk(target) if isinstance(node, ast.Name)}


def definitions(module: str, body: Iterable[ast.stmt]) -> Iterator[Definition]:
    for node in body:
        match node:
            case ast.FunctionDef():
                yield Definition(node.name, module)
            case ast.ClassDef():
                yield Definition(node.name, module)
                for member in node.body:
                    match member:
                        case ast.FunctionDef():
                            yield Definition(member.name, module, node.name)
                        case ast.AnnAssign(target=ast.Name(id=name)) if is_record(node):
                            yield Definition(name, module, node.name, is_member=True)
            case ast.Assign():
                # A setting may be read and then completed.
                names = set().union(*map(names_in, node.targets))
                yield from (Definition(name, module) for name in sorted(names))
            case ast.AnnAssign(target=ast.Name(id=name)):
                yield Definition(name, module)


def test_a_public_name_stands_for_one_thing() -> None:
    found: dict[str, set[Definition]] = defaultdict(set)
    bases: dict[str, set[str]] = {}
    for folder in ("carts", "cartsvc"):
        for path in Path(settings.BASE_DIR, folder).rglob("*.py"):
            tree = ast.parse("" if "migrations" in path.parts else path.read_text("utf-8"))
            for node in ast.walk(tree):
                if isinstance(node, ast.ClassDef):
                    bases[node.name] = set().union(*map(names_in, node.bases))
            for one in definitions(str(path), tree.body):
                if not one.name.startswith("_") and one.name not in HOOKS | SHARED:
                    found[one.name].add(one)

    def line(owner: str) -> set[str]:
        return {owner}.union(*(line(base) for base in bases.get(owner, ())))

    def is_the_same(one: Definition, other: Definition) -> bool:
        """Of two records, or of a class and one that it inherits from."""
        shared = line(one.owner or one.name) & line(other.owner or other.name)
        of_two = bool(one.owner and other.owner and shared & bases.keys())
        return of_two or (one.is_member and other.is_member)

    twice = {
        name: places
        for name, places in found.items()
        if any(not is_the_same(*pair) for pair in combinations(places, 2))
    }
    assert twice == {}
    called = {name for name, places in found.items() if not all(one.is_member for one in places)}
    assert {name for name in called if name.isupper() and name.lower() in called} == set()
