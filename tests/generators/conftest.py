"""What generates clients of the served document, and lets them call a service."""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from django.test import Client
from pytest_django.live_server_helper import LiveServer

from tests.support.callers import PROFILE
from tests.support.programs import missing
from tests.support.tokens import mint

HERE = Path(__file__).parent
PROGRAMS = HERE / "programs"
NODE = HERE / "node_modules"
BIN = HERE / ".venv/bin"

Run = Callable[..., str]


@pytest.fixture
def python() -> Path:
    """The environment of the Python packages: their programs."""
    found = (BIN / "openapi-generator-cli").exists()
    return BIN if found else missing(f"{BIN} (see tests/README.md)")


@pytest.fixture
def node() -> Path:
    """The environment of the npm packages: their programs."""
    found = NODE / ".bin"
    return found if found.exists() else missing(f"{NODE} (see tests/README.md)")


@pytest.fixture
def document(tmp_path: Path) -> Path:
    path = tmp_path / "openapi.json"
    path.write_text(json.dumps(Client().get("/v2.0/openapi.json").json()))
    return path


@pytest.fixture
def older(document: Path) -> Path:
    """The document without a member that the service answers: clients must be open to it."""
    whole = json.loads(document.read_text())
    cart = whole["components"]["schemas"]["Cart"]
    del cart["properties"]["modifiedOn"]
    cart["required"].remove("modifiedOn")
    document.write_text(json.dumps(whole))
    return document


@pytest.fixture
def run(tmp_path: Path, live_server: LiveServer) -> Run:
    """Run a program in the test's folder, within ten minutes, and return what it says."""

    def run(*command: object, cwd: Path = tmp_path, **environment: str) -> str:
        ended = subprocess.run(
            [str(part) for part in command],
            cwd=cwd,
            env={
                **os.environ,
                "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
                "BASE_URL": live_server.url,
                "TOKEN": mint(),
                "PROFILE": str(PROFILE),
                **environment,
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=600,
        )
        assert ended.returncode == 0, ended.stdout[-5000:]
        return ended.stdout

    return run


@pytest.fixture
def generate(run: Run, python: Path, older: Path) -> Callable[..., str]:
    """Generate a client with openapi-generator, without a warning but its own."""

    def generate(generator: str, folder: str, *options: str) -> str:
        said = run(
            python / "openapi-generator-cli",
            *("generate", "-g", generator, "-i", older, "-o", folder),
            *options,
        )
        unexpected = [
            line
            for line in said.splitlines()
            if ("WARN" in line or "ERROR" in line) and not any(own in line for own in OWN_WARNINGS)
        ]
        assert unexpected == []
        return said

    return generate


# What openapi-generator warns of whatever the document says: of 3.1, of an example that has
# a name and is not a reference, and of an example that is an object.
OWN_WARNINGS = (
    "OpenAPI 3.1 support is still in beta",
    "Failed to get the schema name: null",
    "Ignoring complex example on request body",
)
