"""The links of the papers lead to files and headings that are there."""

import re
from pathlib import Path

import pytest

from tests.support.programs import ROOT

PAPERS = [ROOT / "README.md", *sorted(ROOT.glob("c*/**/*.md")), *sorted(ROOT.glob("tests/*.md"))]
PAPERS += sorted(ROOT.glob("tests/*/README.md"))


def headings(paper: Path) -> set[str]:
    """Return the headings as links name them."""
    found = re.findall(r"^#+ (.+)$", paper.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in found}


@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: str(paper.relative_to(ROOT)))
def test_every_link_leads_somewhere(paper: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)", paper.read_text())
    assert links
    wrong = [
        (file, heading)
        for file, heading in links
        if not (led := paper.parent / file if file else paper).exists()
        or (heading and heading not in headings(led))
    ]
    assert wrong == []
