"""The curl lines of the READMEs, word for word, against the service."""

import json
import re
import shlex
import sys
from typing import Any

import pytest

from cartsvc import urls  # noqa: F401 (declares the operations)
from cartsvc.api.operation import OPERATIONS
from tests.machines.servers import Service
from tests.support.programs import ROOT, printed, program

FIRST_PAGE = (ROOT / "README.md").read_text()
SECTION = (ROOT / "carts/README.md").read_text().partition("## With curl\n")[2]
LINES = dict(
    re.findall(r"^    # (.+)\n((?:    .+\n)+)", SECTION.partition("\n## ")[0], re.MULTILINE)
)


@pytest.fixture
def variables(on_sqlite: Service) -> dict[str, str]:
    """PROFILE, TOKEN and CARTS, as the first page sets them."""
    program("curl")
    setting = "".join(re.findall("^    [A-Z]+=.*\n", FIRST_PAGE, re.MULTILINE))
    setting = setting.replace(".venv/bin/python", shlex.quote(sys.executable))
    setting = setting.replace("http://127.0.0.1:8000", on_sqlite.url)
    told = run(f'{setting} printf "%s\\n" $PROFILE $TOKEN $CARTS', on_sqlite.env)
    return on_sqlite.env | dict(zip(("PROFILE", "TOKEN", "CARTS"), told.split(), strict=True))


def run(line: str, variables: dict[str, str]) -> str:
    return printed("bash", "-euc", line, cwd=ROOT, env=variables)


def test_the_first_page_creates_a_cart_and_lists_it(variables: dict[str, str]) -> None:
    lines = FIRST_PAGE.partition("## What an error")[0]
    create, show = re.findall(r"^    curl .*\n(?:    .+\n)*", lines, re.MULTILINE)
    created = run(create, variables)
    assert created.endswith("}}\n")  # before the prompt
    cart_id = json.loads(created)["data"]["cartId"]
    cart, *_ = json.loads(run(show, variables))["data"]["carts"]
    assert (cart["cartId"], cart["subtotal"]) == (cart_id, 21.5)


def test_every_operation_has_a_line_that_does_it(variables: dict[str, str]) -> None:
    assert LINES.keys() == {operation.name for operation in OPERATIONS}

    run_lines = set()

    def answer(name: str) -> Any:
        run_lines.add(name)
        told = run(LINES[name], variables)
        assert told.endswith("}\n")  # before the prompt
        body = json.loads(told)
        assert [each["severity"] for each in body["notifications"]] == ["Success"], body
        return body.get("data")

    variables["CART"] = answer("Create Cart")["cartId"]
    variables["ITEM"] = answer("Add Item")["itemId"]
    assert [item["itemId"] for item in answer("Get Cart")["items"]] == [variables["ITEM"]]
    answer("Update Item")
    cart, *others = answer("List Carts")["carts"]
    assert (cart["cartId"], cart["subtotal"]) == (variables["CART"], 19)
    answer("Change Item")
    assert answer("Get Cart")["subtotal"] == 28.5
    answer("Change Cart")
    assert answer("Get Cart")["fulfilmentChannel"] == "PICKUP"
    answer("Add Items")
    assert answer("Get Cart")["subtotal"] == 28.5 + 22
    answer("Replace Items")
    assert answer("Get Cart")["subtotal"] == 29.4
    issues = re.findall("`(.venv/bin/python manage.py issue_token .+)`", SECTION)
    for name, issue in zip(("CLOSER", "BACK_END"), issues, strict=True):
        line = issue.replace(".venv/bin/python", shlex.quote(sys.executable))
        variables[name] = run(line, variables).strip()
    answer("Close Cart")
    assert answer("Get Cart")["status"] == "checkout"
    answer("Reopen Cart")
    answer("Move Cart")
    assert answer("List Changes")["next"]
    answer("Remove Item")
    assert answer("Get Cart")["items"] == []
    answer("Delete Cart")
    assert answer("List Carts")["carts"] == others
    assert run_lines == LINES.keys()
