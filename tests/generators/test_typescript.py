"""Clients in TypeScript: generated, type-checked strictly, and run against the service."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.generators.conftest import NODE, PROGRAMS, Run
from tests.support.programs import program

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def project(tmp_path: Path, node: Path) -> Path:
    """A folder for a strict program of today's JavaScript."""
    (tmp_path / "node_modules").symlink_to(NODE)
    (tmp_path / "package.json").write_text('{"type": "module"}')
    options = {
        "strict": True,
        "target": "es2022",
        "module": "nodenext",
        "lib": ["es2022", "dom", "dom.iterable"],
        "types": ["node"],
        "outDir": "built",
        "skipLibCheck": True,
    }
    (tmp_path / "tsconfig.json").write_text(
        json.dumps({"compilerOptions": options, "include": ["*.ts", "client"]})
    )
    return tmp_path


def test_openapi_typescript_and_openapi_fetch(
    run: Run, node: Path, older: Path, project: Path
) -> None:
    said = run(node / "openapi-typescript", older, "-o", "schema.d.ts")
    assert "warn" not in said.lower(), said
    shutil.copy(PROGRAMS / "openapi_fetch.ts", project / "program.ts")
    run(node / "tsc")
    assert run(program("node"), "built/program.js").strip() == "done"


def test_openapi_generator_typescript_fetch(
    run: Run, node: Path, generate: Callable[..., str], project: Path
) -> None:
    generate("typescript-fetch", "client", "--additional-properties=importFileExtension=.js")
    shutil.copy(PROGRAMS / "openapi_generator_fetch.ts", project / "program.ts")
    run(node / "tsc")
    assert run(program("node"), "built/program.js").strip() == "done"


def test_hey_api(run: Run, node: Path, older: Path, project: Path) -> None:
    (project / "hey.config.mjs").write_text(
        f"""export default {{
  input: {json.dumps(str(older))},
  output: {{ path: "client", module: {{ extension: ".js" }} }},
}};"""
    )
    said = run(node / "openapi-ts", "-f", "hey.config.mjs")
    assert "warn" not in said.lower(), said
    shutil.copy(PROGRAMS / "hey_api.ts", project / "program.ts")
    run(node / "tsc")
    assert run(program("node"), "built/program.js").strip() == "done"
