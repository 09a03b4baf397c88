"""The API document as Postman imports it: its requests work as they come."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import requests

from tests.chaos.servers import SIGNING_KEY, Service
from tests.support.callers import STRANGER
from tests.support.programs import program
from tests.support.tokens import mint

# What a person presses, from the first to the last.
ORDER = ("Create Cart", "Add Item", "List Carts", "Get Cart", "Update Item", "Remove Item")


def test_every_imported_request_works_unchanged(on_sqlite: Service, tmp_path: Path) -> None:
    document, collection = tmp_path / "openapi.json", tmp_path / "collection.json"
    document.write_text(requests.get(f"{on_sqlite.url}/v2.0/openapi.json", timeout=60).text)
    command = [program("openapi2postmanv2"), "-s", str(document), "-o", str(collection)]
    subprocess.run([*command, "-O", "parametersResolution=Example"], check=True, timeout=120)
    imported = dict(requests_of(json.loads(collection.read_text())))
    assert imported.keys() == set(ORDER)

    # What a person fills in: the address, the token, and the keys of the path as they learn them.
    keys = {"profileKey": str(STRANGER)}
    for name in ORDER:
        request = imported[name]
        parts = request["url"]["path"]
        path = "/".join(keys[part[1:]] if part.startswith(":") else part for part in parts)
        assert request["auth"]["type"] == "bearer"
        answer = requests.request(
            request["method"],
            f"{on_sqlite.url}/{path}",
            data=request.get("body", {}).get("raw"),
            headers={
                "Authorization": f"Bearer {mint(key=SIGNING_KEY)}",
                **{
                    header["key"]: header["value"] for header in request["header"] if of_all(header)
                },
            },
            timeout=60,
        )
        assert answer.status_code == 200, (name, answer.text)
        keys |= answer.json().get("data", {})


def requests_of(folder: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for entry in folder["item"]:
        if "item" in entry:
            yield from requests_of(entry)
        else:
            yield entry["name"], entry["request"]


def of_all(header: dict[str, Any]) -> bool:
    """Return whether the header is not one that a person ticks for this request."""
    return header["key"] in {"Accept", "Content-Type"}
