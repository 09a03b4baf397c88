"""What a rival that keeps the carts' history records of a change."""

import json
from collections.abc import Mapping
from typing import Any

# The latest changes of a cart that are kept.
MAX_CHANGES = 100
# The kind and the name of the author, and the id of the request.
AUTHOR = ("bearer", "bench", "01890a5d-ac96-774b-bcce-b302099a8057")


def difference(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[str, str]:
    """Return the members that differ as JSON, as they were and as they are."""
    changed = [name for name in after if before[name] != after[name]]
    return encoded(before, changed), encoded(after, changed)


def encoded(values: Mapping[str, Any], names: list[str]) -> str:
    chosen = {name: values[name] for name in names}
    return json.dumps(chosen, ensure_ascii=False, separators=(",", ":"), default=float)
