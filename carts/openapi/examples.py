"""Examples, from examples.yaml: of each request, each answer and each error of an operation."""

from functools import cache
from pathlib import Path
from typing import Any

import yaml
from django.conf import settings

from cartsvc.api.operation import Operation
from cartsvc.request_errors import API_ERRORS, ApiError


@cache  # who asks for no document does not wait for it
def samples() -> dict[str, Any]:
    """Return examples.yaml. A test compares its limits with what the service answers."""
    text = Path(__file__).with_name("examples.yaml").read_text()
    return yaml.safe_load(text % {"bytes": settings.MAX_BODY_BYTES})


def example(name: str, schemas: dict[str, Any]) -> dict[str, Any]:
    """Return an object that the schema of this name describes."""
    members = schemas[name]["properties"]
    whole = next(one for one in samples()["whole"] if one.keys() >= members.keys())
    found = {}
    for member, schema in members.items():
        value = whole[member]
        if isinstance(value, list):
            value = [example(schema["items"]["$ref"].rpartition("/")[2], schemas)]
        if value is not None or member in schemas[name].get("required", ()):
            found[member] = value
    return found


def errors_shown(operation: Operation, sent: dict[str, Any]) -> list[ApiError]:
    """Return the errors that are shown of an operation with a body such as `sent`, if any."""
    groups = samples()["errors"]
    codes = [*groups["of_any"], *(kind.code for kind in operation.errors)]
    if sent:
        [item] = sent.get("items", [sent])
        codes += groups["of_bodies"]
        codes += [c for c, about in groups["of_items"].items() if about["field"][1:] in item]
    return [error_shown(code, operation, sent) for code in codes]


def error_shown(code: str, operation: Operation, sent: dict[str, Any]) -> ApiError:
    """Return an error with this code, as the operation may have it."""
    groups = samples()["errors"]
    details: dict[str, Any] = next((group[code] for group in groups.values() if code in group), {})
    error = API_ERRORS[code](**{"scopes": " or ".join(operation.scopes), **details})
    in_item = code in groups["of_items"] or code == "unknown_member"
    return error.below("/items/0") if in_item and "items" in sent else error
