"""What the service needs, and what its tests need beside it, each pinned and from anywhere."""

import ast
import json
import re
import sys
from importlib.metadata import packages_distributions, requires
from pathlib import Path

from django.conf import settings
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.support.programs import ROOT

SERVICE = ROOT / "cartsvc" / "requirements.txt"
LOCK = ROOT / "cartsvc" / "requirements.lock"
TESTS = ROOT / "requirements.txt"
GENERATORS = ROOT / "tests/generators"


def whole_lines(file: Path) -> list[str]:
    return file.read_text().replace("\\\n", "").splitlines()


def required(file: Path, **environment: str) -> dict[str, Requirement]:
    """Return the requirements that the file itself lists for this Python, by name."""
    lines = [re.split("#|--hash", line)[0].strip() for line in whole_lines(file)]
    found = [Requirement(line) for line in lines if line and not line.startswith("-")]
    return {
        canonicalize_name(requirement.name): requirement
        for requirement in found
        if requirement.marker is None or requirement.marker.evaluate(dict(environment))
    }


def imported() -> set[str]:
    """Return the top-level modules that the service imports or its settings name."""
    names = {*settings.INSTALLED_APPS, *settings.MIDDLEWARE}
    for module in (*(ROOT / "cartsvc").rglob("*.py"), *(ROOT / "carts").rglob("*.py")):
        for node in ast.walk(ast.parse(module.read_text())):
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names.add(node.module)
    return {name.partition(".")[0] for name in names}


def test_every_import_of_the_service_is_served() -> None:
    distributions, listed = packages_distributions(), required(SERVICE).keys()
    foreign = imported() - sys.stdlib_module_names - {"cartsvc", "carts"}

    assert foreign >= {"django", "rest_framework", "whitenoise", "axes"}
    assert {
        name
        for name in foreign
        if listed.isdisjoint(map(canonicalize_name, distributions.get(name, [])))
    } == set()


def test_every_version_is_pinned_and_every_dependency_listed() -> None:
    service = required(SERVICE)
    everything = service | required(TESTS)
    assert [
        str(each)
        for each in everything.values()
        if [specifier.operator for specifier in each.specifier] != ["=="]
    ] == []
    for listed in (service, everything):
        assert {
            (name, needed.name)
            for name, requirement in listed.items()
            for needed in map(Requirement, requires(name) or [])
            if canonicalize_name(needed.name) not in listed
            and any(
                needed.marker is None or needed.marker.evaluate({"extra": extra})
                for extra in ("", *requirement.extras)
            )
        } == set()


def test_an_older_python_is_told_which_it_must_be() -> None:
    assert SERVICE.read_text().index("Python-3.11-or-newer") < SERVICE.read_text().index("Django")
    told = required(SERVICE, python_version="3.10").keys() - required(SERVICE).keys()
    assert told == {"python"}


def test_production_installs_the_pinned_versions_by_their_hashes() -> None:
    """If it fails, run the command that the README and the file itself name."""
    pinned, locked = required(SERVICE), required(LOCK)
    assert {name: str(each.specifier) for name, each in pinned.items()} == {
        name: str(each.specifier) for name, each in locked.items()
    }
    lines = [line for line in whole_lines(LOCK) if not line.startswith("#")]
    hashed = re.compile(r"[a-z0-9-]+==\S+( ; [^-]+)?( +--hash=sha256:[0-9a-f]{64})+")
    assert [line for line in lines if not hashed.fullmatch(line)] == []


def test_what_npm_installs_is_pinned_and_from_no_one_registry() -> None:
    listed = json.loads((GENERATORS / "package.json").read_text())["devDependencies"]
    locked = json.loads((GENERATORS / "package-lock.json").read_text())["packages"]
    assert all(re.fullmatch(r"[0-9.]+", version) for version in listed.values())
    assert {name: locked[f"node_modules/{name}"]["version"] for name in listed} == listed
    assert [path for path, package in locked.items() if "resolved" in package] == []
