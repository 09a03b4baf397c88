"""Every type, as a member of items and options that is required and one that is not.

A copy of the project gets them, as the recipe of a field says, and passes `walk_of_types.py`.
"""

import json
import sys
from collections.abc import Iterable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from carts.value_types import ValueType
from cartsvc.member_names import snake_case
from tests.recipes.conftest import Run
from tests.recipes.type_samples import SAMPLES
from tests.support.clusters import private_cluster

MODULE = ValueType.__module__


def kinds(base: Any) -> Iterable[str]:
    """Return the names of the types that values may have: those that no other derives from."""
    below = [one for one in base.__subclasses__() if one.__module__ == MODULE]
    return [name for one in below for name in kinds(one)] if below else [base.__name__]


def test_every_type_has_a_sample() -> None:
    assert {*kinds(ValueType)} == {*SAMPLES, "ListOf"}


def insert(file: Path, before: str, lines: Iterable[str]) -> None:
    """Insert the lines before a text that the file must have once."""
    content = file.read_text()
    assert content.count(before) == 1, f"{file.name} has no longer one {before!r}"
    file.write_text(content.replace(before, "".join(f"{line}\n" for line in lines) + before))


@pytest.fixture
def changed(copy: Path) -> None:
    """Add the members to the copy, as the recipe of a field says."""
    required, optional = (
        {f"{which}{kind}": sample for kind, sample in SAMPLES.items()}
        for which in ("required", "optional")
    )
    every = required | optional
    fields = [
        f"    {snake_case(name)}: Annotated[Any, {sample.declared}]"
        for name, sample in required.items()
    ]
    defaults = [
        f"    {snake_case(name)}: Annotated[Any, {sample.declared}] = None"
        for name, sample in optional.items()
    ]
    records, models = copy / "carts/records.py", copy / "carts/models/item.py"
    insert(records, "\n\n@checked_record\nclass Item(", fields + defaults)
    insert(records, "    options: Annotated[", fields)
    insert(records, "\n    @property\n    def value(", defaults)
    ends = {"Item": "    value = ExactField(", "Option": '    price = column(Option, "price")'}
    for record, before in ends.items():
        names = map(snake_case, every)
        insert(models, before, [f'    {name} = column({record}, "{name}")' for name in names])
    document, example = (
        copy / f"carts/openapi/{name}.yaml" for name in ("document", "example_cart")
    )
    for before in ("    CartItemOptionRead:\n", "\n    ErrorResponse:"):
        insert(document, before, [f"        {name}: {{description: Of a type.}}" for name in every])
    for before, margin in (("    options:\n", 4), ("\n# The example of a schema", 6)):
        lines = [f"{' ' * margin}{name}: {json.dumps(one.first)}" for name, one in every.items()]
        insert(example, before, lines)


@pytest.mark.usefixtures("changed")
@pytest.mark.parametrize("database", ["SQLite", "PostgreSQL"])
def test_every_type_passes_every_door(copy: Path, run: Run, database: str) -> None:
    # Django asks for a value of the rows that there are, in alphabetical order of the columns.
    answers = "".join(f"1\n{SAMPLES[kind].first!r}\n" for kind in sorted(SAMPLES))
    run(sys.executable, "manage.py", "makemigrations", "carts", sent=2 * answers)
    with private_cluster() if database == "PostgreSQL" else nullcontext() as cluster:
        secrets = dict.fromkeys(("SECRET_KEY", "JWT_SIGNING_KEY"), "for a test " * 9)
        variables = {"DATABASE_URL": cluster.url(), **secrets} if cluster else {}
        walk = ("-m", "pytest", "-n", "0", "-q", "tests/recipes/walk_of_types.py")
        run(sys.executable, *walk, **variables)
