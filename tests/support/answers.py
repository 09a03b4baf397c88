"""Whole bodies to compare answers with, and functions that read an answer."""

import json
from decimal import Decimal
from typing import Any


def success(text: str, data: Any = None) -> dict[str, Any]:
    """Return the whole body of a 200 answer. Without `data`, it has no such property."""
    body = {"message": text, "notifications": [notification("Success", text)]}
    return body if data is None else {**body, "data": data}


def error(code: str, text: str, field: str | None = None, /, **facts: object) -> dict[str, Any]:
    """Return the whole body of an answer with one error. `facts` stand beside its field."""
    message = f"{field}: {text}" if field and field not in text else text
    told = notification("Error", text, code, field, **facts)
    return {"message": message, "notifications": [told]}


def notification(
    severity: str, text: str, code: str | None = None, field: str | None = None, /, **facts: object
) -> dict[str, Any]:
    data = facts if field is None else {"field": field, **facts}
    return {"severity": severity, "text": text, "code": code, "additionalData": data or None}


def assert_refused(
    response: Any, status: int, code: str, text: str, field: str | None = None, /, **facts: object
) -> None:
    """Check the status and the whole body of an answer with one error."""
    assert response.status_code == status
    assert response.json() == error(code, text, field, **facts)


def errors_of(response: Any) -> list[tuple[str, str | None]]:
    """Return the code and the field of each notification of an error."""
    body = response.json()
    assert set(body) == {"message", "notifications"}
    found = body["notifications"]
    for each in found:
        assert set(each) == {"severity", "text", "code", "additionalData"}
        assert each["severity"] == "Error"
    return [(each["code"], (each["additionalData"] or {}).get("field")) for each in found]


def exact(response: Any) -> Any:
    """Return the decoded body, with fractions as Decimal."""
    return json.loads(response.content, parse_float=Decimal)
