"""Linters of API documents: nothing to say but what their settings leave silent, with a reason."""

import shutil
from pathlib import Path

import pytest

from tests.generators.conftest import HERE, NODE, Run

pytestmark = pytest.mark.django_db(transaction=True)


def test_spectral_and_owasp(run: Run, node: Path, document: Path, tmp_path: Path) -> None:
    # Spectral looks for the rules beside its settings, and for the document below them.
    (tmp_path / "node_modules").symlink_to(NODE)
    settings = shutil.copy(HERE / "spectral.yaml", tmp_path)
    run(node / "spectral", "lint", document, "--ruleset", settings, "--fail-severity=hint")


def test_redocly(run: Run, node: Path, document: Path) -> None:
    quiet = {"REDOCLY_TELEMETRY": "off", "REDOCLY_SUPPRESS_UPDATE_NOTICE": "true"}
    run(node / "redocly", "lint", "--config", HERE / "redocly.yaml", document, **quiet)
