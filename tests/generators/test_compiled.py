"""Clients in Go and Java: generated, compiled strictly, and run against the service."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.generators.conftest import PROGRAMS, Run
from tests.support.programs import program

pytestmark = pytest.mark.django_db(transaction=True)

NO_TESTS = ("--global-property", "apiTests=false,modelTests=false")

# What a Java build has from jakarta.annotation-api.
GENERATED = """
package javax.annotation;
public @interface Generated {
  String[] value();
  String date() default "";
  String comments() default "";
}
"""


def test_openapi_generator_go(run: Run, generate: Callable[..., str], tmp_path: Path) -> None:
    go = program("go")
    options = "packageName=cartclient,disallowAdditionalPropertiesIfNotPresent=false"
    generate("go", "client", *NO_TESTS, f"--additional-properties={options}")
    client = tmp_path / "client"
    (client / "go.mod").write_text("module cartclient\n\ngo 1.19\n")
    (client / "program").mkdir()
    shutil.copy(PROGRAMS / "program.go", client / "program")
    environment = {
        "GOCACHE": str(tmp_path / "cache"),
        "GOPATH": str(tmp_path / "go"),
        "GOPROXY": "off",  # it needs no other module
    }
    run(go, "vet", "./...", cwd=client, **environment)
    assert run(go, "run", "./program", cwd=client, **environment).strip() == "done"


def test_openapi_generator_java(
    run: Run, generate: Callable[..., str], python: Path, tmp_path: Path
) -> None:
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
