"""What List Changes tells."""

from typing import Any
from urllib.parse import urlencode

from tests.support.callers import Caller

CHANGES = "/v2.0/changes"


def page(api: Caller, **query: Any) -> Any:
    """Return the data of a page: its `changes`, and the `next` after."""
    api.base = api.base.partition("/v2.0/")[0] + CHANGES
    response = api.get(f"?{urlencode(query)}")
    assert response.status_code == 200, response.content
    return response.json()["data"]


def told(api: Caller, after: str = "0", **query: Any) -> list[Any]:
    """Return all that has changed after a cursor, read page by page."""
    changes, following = list[Any](), ""
    while after != following:
        after = following or after
        data = page(api, after=after, **query)
        changes += data["changes"]
        following = data["next"]
    return changes
