"""The example cart, from example_cart.yaml: of each request and answer, and of the first page."""

from functools import cache
from pathlib import Path
from typing import Any

import yaml
from django.core.exceptions import ImproperlyConfigured

JsonDict = dict[str, Any]


@cache  # who asks for no document does not wait for it
def example_cart() -> JsonDict:
    """Return example_cart.yaml. A test compares it with what the service answers."""
    found: JsonDict = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text("utf-8"))
    return found


def example_of(schema: JsonDict) -> JsonDict:
    members, required = schema["properties"].keys(), schema["required"]
    for found in example_cart()["objects"]:
        if found.keys() & members and found.keys() >= {*required}:
            return {member: found[member] for member in members if member in found}
    raise ImproperlyConfigured(f"No object of example_cart.yaml has all of {', '.join(required)}.")
