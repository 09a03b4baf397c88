"""Clients: generated, compiled or type-checked strictly, and run against the service."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.generators.conftest import NODE, PROGRAMS, Run
from tests.support.programs import program

pytestmark = pytest.mark.django_db(transaction=True)

Generate = Callable[..., str]

# What a Java build has from jakarta.annotation-api.
GENERATED = """
package javax.annotation;
public @interface Generated {
  String[] value();
  String date() default "";
  String comments() default "";
}
"""
NO_TESTS = ("--global-property", "apiTests=false,modelTests=false")


def test_openapi_python_client(run: Run, python: Path, older: Path, tmp_path: Path) -> None:
    said = run(
        python / "openapi-python-client",
        *("generate", "--path", older, "--output-path", tmp_path / "cart_client"),
        *("--meta", "none"),
    )
    assert "warning" not in said.lower(), said
    main = shutil.copy(PROGRAMS / "openapi_python_client.py", tmp_path / "program.py")
    # Its own client.py hands `object` on to httpx, whatever the document says.
    (tmp_path / "mypy.ini").write_text("[mypy-cart_client.client]\ndisable_error_code=arg-type\n")
    run(python / "mypy", "--strict", "--config-file", "mypy.ini", "cart_client", main)
    assert run(python / "python", main).strip() == "done"


def test_openapi_generator_python(
    run: Run, python: Path, generate: Generate, tmp_path: Path
) -> None:
    generate("python", "client")
    client = tmp_path / "client"
    main = shutil.copy(PROGRAMS / "openapi_generator_python.py", client / "program.py")
    # With the settings of its own pyproject.toml.
    run(python / "mypy", "openapi_client", main, cwd=client)
    assert run(python / "python", main, cwd=client).strip() == "done"


def test_openapi_generator_go(run: Run, generate: Generate, tmp_path: Path) -> None:
    go, client = program("go"), tmp_path / "client"
    options = "packageName=cartclient,disallowAdditionalPropertiesIfNotPresent=false"
    generate("go", "client", *NO_TESTS, f"--additional-properties={options}")
    (client / "go.mod").write_text("module cartclient\n\ngo 1.19\n")
    (client / "program").mkdir()
    shutil.copy(PROGRAMS / "program.go", client / "program")
    folders = {"GOCACHE": str(tmp_path / "cache"), "GOPATH": str(tmp_path / "go")}
    how = {**folders, "GOPROXY": "off"}  # it needs no other module
    run(go, "vet", "./...", cwd=client, **how)
    assert run(go, "run", "./program", cwd=client, **how).strip() == "done"


def test_openapi_generator_java(run: Run, generate: Generate, python: Path, tmp_path: Path) -> None:
    javac, java = program("javac"), program("java")
    # An object for each request: an operation's new headers leave its callers as they are.
    options = "openApiNullable=false,useSingleRequestParameter=true"
    generate("java", "client", *NO_TESTS, "--library=native", f"--additional-properties={options}")
    (tmp_path / "Generated.java").write_text(GENERATED)
    shutil.copy(PROGRAMS / "Program.java", tmp_path)
    sources = [*(tmp_path / "client/src/main/java").rglob("*.java"), *tmp_path.glob("*.java")]
    # The generator's own jar holds the Jackson that its clients need.
    (jar,) = python.parent.glob("lib/*/site-packages/openapi_generator_cli/*.jar")
    run(javac, "-Xlint:deprecation", "-d", "built", "-cp", jar, *sources)
    assert run(java, "-cp", f"built:{jar}", "Program").strip() == "done"


@pytest.fixture
def typescript(run: Run, node: Path, tmp_path: Path) -> Callable[[str], str]:
    """Compile a program strictly for today's JavaScript, run it, and return what it says."""
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

    def compiled_and_run(name: str) -> str:
        shutil.copy(PROGRAMS / name, tmp_path / "program.ts")
        run(node / "tsc")
        return run(program("node"), "built/program.js").strip()

    return compiled_and_run


def test_openapi_typescript_and_openapi_fetch(
    run: Run, node: Path, older: Path, typescript: Callable[[str], str]
) -> None:
    said = run(node / "openapi-typescript", older, "-o", "schema.d.ts")
    assert "warn" not in said.lower(), said
    assert typescript("openapi_fetch.ts") == "done"


def test_openapi_generator_typescript_fetch(
    generate: Generate, typescript: Callable[[str], str]
) -> None:
    generate("typescript-fetch", "client", "--additional-properties=importFileExtension=.js")
    assert typescript("openapi_generator_fetch.ts") == "done"


def test_hey_api(
    run: Run, node: Path, older: Path, typescript: Callable[[str], str], tmp_path: Path
) -> None:
    output = {"path": "client", "module": {"extension": ".js"}}
    settings = json.dumps({"input": str(older), "output": output})
    (tmp_path / "hey.config.mjs").write_text(f"export default {settings};")
    said = run(node / "openapi-ts", "-f", "hey.config.mjs")
    assert "warn" not in said.lower(), said
    assert typescript("hey_api.ts") == "done"
