"""Clients in Python: generated, type-checked, and run against the service."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.generators.conftest import PROGRAMS, Run

pytestmark = pytest.mark.django_db(transaction=True)


def test_openapi_python_client(run: Run, python: Path, older: Path, tmp_path: Path) -> None:
    said = run(
        python / "openapi-python-client",
        *("generate", "--path", older, "--output-path", tmp_path / "cart_client"),
        *("--meta", "none"),
    )
    assert "warning" not in said.lower(), said
    program = Path(shutil.copy(PROGRAMS / "openapi_python_client.py", tmp_path / "program.py"))
    # Its own client.py hands `object` on to httpx, whatever the document says.
    (tmp_path / "mypy.ini").write_text("[mypy-cart_client.client]\ndisable_error_code=arg-type\n")
    run(python / "mypy", "--strict", "--config-file", "mypy.ini", "cart_client", program)
    assert run(python / "python", program).strip() == "done"


def test_openapi_generator_python(
    run: Run, python: Path, generate: Callable[..., str], tmp_path: Path
) -> None:
    generate("python", "client")
    client = tmp_path / "client"
    program = shutil.copy(PROGRAMS / "openapi_generator_python.py", client / "program.py")
    # With the settings of its own pyproject.toml.
    run(python / "mypy", "openapi_client", program, cwd=client)
    assert run(python / "python", program, cwd=client).strip() == "done"
