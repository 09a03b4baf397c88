"""The list of sabotages stays true to the code; `python -m tests.mutants` runs it."""

import pytest

from tests.mutants import MUTANTS, ROOT, Mutant


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_changes_one_place(mutant: Mutant) -> None:
    assert (ROOT / mutant.file).read_text().count(mutant.old) == 1
    assert mutant.new != mutant.old
    for word in mutant.tests.split():
        path = word.partition("::")[0]
        assert not path.startswith("tests/") or (ROOT / path).exists(), path


def test_the_names_are_told_apart() -> None:
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)
