"""Examples, from examples.yaml: of each request, each answer and each error of an operation."""

from functools import cache
from pathlib import Path
from typing import Any

import yaml

from cartsvc.api.operation import Operation
from cartsvc.request_errors import API_ERRORS, ApiError


@cache  # who asks for no document does not wait for it
def samples() -> dict[str, Any]:
    """Return examples.yaml. A test compares it with what the service answers."""
    return yaml.safe_load(Path(__file__).with_name("examples.yaml").read_text("utf-8"))


def example(schema: dict[str, Any]) -> dict[str, Any]:
    """Return an object that the schema describes."""
    members = schema["properties"].keys()
    wholes = (one for one in samples()["whole"] if one.keys() & members)
    whole = next(one for one in wholes if one.keys() >= {*schema["required"]})
    return {member: whole[member] for member in members if member in whole}


def errors_shown(operation: Operation) -> list[ApiError]:
    """Return the errors that are shown of an operation. Any value may have others as well."""
    groups = samples()["errors"]
    details = {code: about for group in groups.values() for code, about in group.items()}
    details |= samples()["errors_of"].get(operation.name, {})
    codes = [*groups["of_any"], *(groups["of_bodies"] if operation.body else ())]
    kinds = [*map(API_ERRORS.__getitem__, codes), *operation.errors]
    known = {
        "scopes": " or ".join(operation.scopes),
        "taken": " or ".join(operation.media_types),
    }
    return [kind(**{**known, **details.get(kind.code, {})}) for kind in kinds]
