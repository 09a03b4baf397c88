"""The operations of the OpenAPI document say what the specification says."""

import re
from contextlib import closing

import pytest
from django.test import Client

from tests.api.documented import OPERATIONS, Document, operation


def test_nine_operations_and_no_more(document: Document) -> None:
    assert document["openapi"].startswith("3.1")
    found = {
        operation["operationId"]: (method, path, "x-extension" not in operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    }
    assert found == OPERATIONS


@pytest.mark.parametrize("name", OPERATIONS)
def test_the_specified_are_beta_and_the_others_extensions(name: str, document: Document) -> None:
    described, specified = operation(document, name), OPERATIONS[name][2]
    marks = (described.get("x-beta"), described.get("x-extension"))
    assert marks == ((True, None) if specified else (None, True))
    first = "Beta. " if specified else "Extension to the specification. "
    assert described["description"].startswith(first)


@pytest.mark.parametrize(
    ("name", "statuses"),
    [
        ("createCart", "200 400 401 403 409 413 415 422 429 500 503"),
        ("listCarts", "200 400 401 403 429 500 503"),
        ("getCart", "200 400 401 403 404 429 500 503"),
        ("addItem", "200 400 401 403 404 409 412 413 415 422 429 500 503"),
        ("updateItem", "200 400 401 403 404 412 413 415 429 500 503"),
        ("changeItem", "200 400 401 403 404 412 413 415 429 500 503"),
        ("removeItem", "200 400 401 403 404 412 429 500 503"),
        ("changeCart", "200 400 401 403 404 412 413 415 429 500 503"),
        ("deleteCart", "200 400 401 403 404 412 429 500 503"),
    ],
)
def test_every_status_of_an_operation(name: str, statuses: str, document: Document) -> None:
    described = operation(document, name)
    found = [status for status in described["responses"] if status != "304"]
    assert " ".join(found) == statuses
    taken = {parameter["name"] for parameter in described["parameters"]}
    assert ("304" in described["responses"]) == ("If-None-Match" in taken)
    assert "content" not in described["responses"].get("304", {})


@pytest.mark.parametrize("name", OPERATIONS)
def test_headers_of_answers(name: str, document: Document) -> None:
    described = operation(document, name)
    taken = {parameter["name"] for parameter in described["parameters"]}
    always = {"X-Request-ID", "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"}
    for status, answer in described["responses"].items():
        headers = answer["headers"]
        assert always <= set(headers)
        assert answer["description"]
        assert all(header["description"] for header in headers.values())
        assert ("Retry-After" in headers) == (status in {"429", "503"})
        assert ("WWW-Authenticate" in headers) == (status in {"401", "403"})
        assert status not in {"304", "412"} or headers["ETag"]["required"]
    success = described["responses"]["200"]["headers"]
    assert ("Idempotent-Replayed" in success) == ("Idempotency-Key" in taken)
    assert ("Preference-Applied" in success) == ("Prefer" in taken)
    sometimes = {"Idempotent-Replayed", "Preference-Applied"}
    assert all(not success[sent]["required"] for sent in sometimes & success.keys())
    # A replay has none.
    assert "ETag" not in success or success["ETag"]["required"] == ("Idempotency-Key" not in taken)


def test_docs_page_brings_its_own_files(client: Client, db: None) -> None:
    answer = client.get("/docs")
    assert "unsafe" not in answer["Content-Security-Policy"]
    sources = re.findall('(?:src|href)="([^"]+)"', answer.content.decode())
    assert sources
    assert all(source.startswith("/") for source in sources)
    for source in sources:
        with closing(client.get(source)) as answer:
            assert answer.status_code == 200
