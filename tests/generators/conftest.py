"""Programs of other languages that call the service."""

import json
import os
import shutil
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
PATH = os.pathsep.join([str(BIN), str(NODE / ".bin"), os.environ["PATH"]])

Run = Callable[..., str]


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

    def run(name: str, *arguments: object, cwd: Path = tmp_path, **environment: str) -> str:
        found = shutil.which(name, path=PATH) or missing(f"{name} (see tests/README.md)")
        ended = subprocess.run(
            [found, *map(str, arguments)],
            cwd=cwd,
            env={
                **os.environ,
                "PATH": PATH,
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
def typescript(run: Run, tmp_path: Path) -> Run:
    """Compile a program strictly for today's JavaScript, run it, and return what it says."""
    (tmp_path / "node_modules").symlink_to(NODE)
    (tmp_path / "package.json").write_text('{"type": "module"}')
    shutil.copy(PROGRAMS / "tsconfig.json", tmp_path)

    def compile_and_run(name: str, **environment: str) -> str:
        shutil.copy(PROGRAMS / name, tmp_path / "program.ts")
        run("tsc")
        return run("node", "built/program.js", **environment).strip()

    return compile_and_run
