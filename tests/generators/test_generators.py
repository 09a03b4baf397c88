"""Clients of the served document, and linters of it.

Each client is generated, compiled or type-checked strictly, and run against the service.
"""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pytest_django.live_server_helper import LiveServer

from tests.generators.conftest import BIN, HERE, NODE, PROGRAMS, Run

pytestmark = pytest.mark.django_db(transaction=True)

Generate = Callable[..., None]

# What openapi-generator warns of whatever the document says: of 3.1, of an example that has
# a name and is not a reference, and of an example that is an object.
OWN_WARNINGS = (
    "OpenAPI 3.1 support is still in beta",
    "Failed to get the schema name: null",
    "Ignoring complex example on request body",
)
NO_TESTS = ("--global-property", "apiTests=false,modelTests=false")


@pytest.fixture
def generate(run: Run, older: Path) -> Generate:
    """Generate a client with openapi-generator, without a warning but its own."""

    def generate(generator: str, *options: str) -> None:
        how = "-g", generator, "-i", older, "-o", "client", *options
        said = run("openapi-generator-cli", "generate", *how)
        unexpected = [
            line
            for line in said.splitlines()
            if ("WARN" in line or "ERROR" in line) and not any(own in line for own in OWN_WARNINGS)
        ]
        assert unexpected == []

    return generate


def test_openapi_generator_python(run: Run, generate: Generate, tmp_path: Path) -> None:
    generate("python")
    client = tmp_path / "client"
    main = shutil.copy(PROGRAMS / "openapi_generator_python.py", client / "program.py")
    # With the settings of its own pyproject.toml.
    run("mypy", "openapi_client", main, cwd=client)
    assert run("python", main, cwd=client).strip() == "done"


def test_openapi_python_client(run: Run, older: Path, tmp_path: Path) -> None:
    (tmp_path / "settings.json").write_text('{"post_hooks": []}')  # it would run ruff
    how = "--path", older, "--meta", "none", "--output-path", "cart_client"
    run("openapi-python-client", "generate", *how, "--config=settings.json", "--fail-on-warning")
    main = shutil.copy(PROGRAMS / "openapi_python_client.py", tmp_path / "program.py")
    run("mypy", "--strict", "cart_client", main)
    assert run("python", main).strip() == "done"


def test_openapi_generator_java(run: Run, generate: Generate, tmp_path: Path) -> None:
    # An object for each request: an operation's new headers leave its callers as they are.
    options = "openApiNullable=false,useSingleRequestParameter=true"
    generate("java", *NO_TESTS, "--library=native", f"--additional-properties={options}")
    sources = [*(tmp_path / "client/src/main/java").rglob("*.java"), *PROGRAMS.glob("*.java")]
    # The generator's own jar holds the Jackson that its clients need.
    (jar,) = BIN.parent.glob("lib/*/site-packages/openapi_generator_cli/*.jar")
    run("javac", "-Xlint:deprecation", "-d", "built", "-cp", jar, *sources)
    assert run("java", "-cp", f"built:{jar}", "Program").strip() == "done"


def test_openapi_generator_go(run: Run, generate: Generate, tmp_path: Path) -> None:
    options = "disallowAdditionalPropertiesIfNotPresent=false"  # open to new members
    generate("go", *NO_TESTS, f"--additional-properties={options}")
    program = tmp_path / "client/program"
    program.mkdir()
    shutil.copy(PROGRAMS / "program.go", program)
    run("go", "vet", "./...", cwd=tmp_path / "client")
    assert run("go", "run", "./program", cwd=tmp_path / "client").strip() == "done"


# How generators write what is not set. All but dart send nothing.
WITHOUT_NULL = {
    "csharp": "if (changeCartItem.SpecialInstructionsOption.IsSet)",
    "dart": "json[r'specialInstructions'] = null;",
    "dart-dio": "if (object.specialInstructions != null) {",
    "kotlin": "val specialInstructions: kotlin.String? = null",  # Moshi leaves null out
    "swift6": "encodeIfPresent(specialInstructions",
}


@pytest.mark.parametrize("generator", WITHOUT_NULL)
def test_what_other_clients_send_of_a_member_that_is_not_set(
    run: Run, document: Path, tmp_path: Path, generator: str
) -> None:
    """The page says which takes an item's instructions away with a new quantity."""
    run("openapi-generator-cli", "generate", "-g", generator, "-i", document, "-o", "client")
    sources = [*(tmp_path / "client").rglob("*hange*art*tem.*")]
    assert any(WITHOUT_NULL[generator] in path.read_text() for path in sources)


# Programs that compile each pattern in a file. RE2 is Go's engine, PCRE2 is PHP's.
ENGINES: dict[str, tuple[object, ...]] = {
    "RE2": (
        BIN / "python",
        "-c",
        "import re2; [*map(re2.compile, open('all').read().split('\\n'))]",
    ),
    "Python": ("python", "-c", "import re; [*map(re.compile, open('all').read().split('\\n'))]"),
    "Node": (
        "node",
        "-e",
        "for (each of fs.readFileSync('all', 'utf8').split('\\n')) RegExp(each, 'u')",
    ),
    # grep ends with 1 where it finds nothing, and with 2 where the pattern is wrong.
    "PCRE2": ("sh", "-ec", 'while read -r each; do grep -Pe "$each" all || [ $? = 1 ]; done <all'),
}


def patterns(part: object) -> Iterator[str]:
    """Yield every pattern in a part of the document."""
    inner = part.values() if isinstance(part, dict) else part if isinstance(part, list) else []
    for each in inner:
        yield from patterns(each)
    if isinstance(part, dict) and isinstance(part.get("pattern"), str):
        yield part["pattern"]


@pytest.mark.parametrize("engine", ENGINES)
def test_every_pattern_compiles(run: Run, document: Path, tmp_path: Path, engine: str) -> None:
    found = {*patterns(json.loads(document.read_text()))}
    assert len(found) > 5
    (tmp_path / "all").write_text("\n".join(found) + "\n")
    run(*ENGINES[engine], LC_ALL="C.UTF-8")


def test_openapi_typescript_and_openapi_fetch(run: Run, older: Path, typescript: Run) -> None:
    said = run("openapi-typescript", older, "-o", "schema.d.ts")
    assert "warn" not in said.lower(), said
    assert typescript("openapi_fetch.ts") == "done"


def test_openapi_generator_typescript_fetch(generate: Generate, typescript: Run) -> None:
    generate("typescript-fetch", "--additional-properties=importFileExtension=.js")
    assert typescript("openapi_generator_fetch.ts") == "done"


def configured(folder: Path, name: str, settings: object) -> None:
    (folder / f"{name}.config.mjs").write_text(f"export default {json.dumps(settings)}")


def test_hey_api(run: Run, older: Path, typescript: Run, tmp_path: Path) -> None:
    output = {"path": "client", "importFileExtension": ".js"}
    configured(tmp_path, "openapi-ts", {"input": str(older), "output": output})
    run("openapi-ts")
    assert typescript("hey_api.ts") == "done"


def test_orval(
    run: Run, older: Path, typescript: Run, tmp_path: Path, live_server: LiveServer
) -> None:
    output = {"target": "client.ts", "client": "fetch", "baseUrl": live_server.url}
    configured(tmp_path, "orval", {"carts": {"input": str(older), "output": output}})
    run("orval", "--fail-on-warnings")
    assert typescript("orval.ts") == "done"


def test_spectral_and_owasp(run: Run, document: Path, tmp_path: Path) -> None:
    # Spectral looks for the rules beside its settings, and for the document below them.
    (tmp_path / "node_modules").symlink_to(NODE)
    settings = shutil.copy(HERE / "spectral.yaml", tmp_path)
    run("spectral", "lint", document, "--ruleset", settings, "--fail-severity=hint")


def test_redocly(run: Run, document: Path) -> None:
    quiet = {"REDOCLY_TELEMETRY": "off", "REDOCLY_SUPPRESS_UPDATE_NOTICE": "true"}
    run("redocly", "lint", "--config", HERE / "redocly.yaml", document, **quiet)
