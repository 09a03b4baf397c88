"""The operations of the OpenAPI document say what the specification says."""

import re
from contextlib import closing

import jsonschema_rs
import pytest
from django.test import Client

from tests.api.documented import OPERATIONS, Document, operation, served

SOMETIMES = {"Idempotent-Replayed", "Preference-Applied"}


@pytest.fixture(scope="module")
def document() -> Document:
    return served()


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
    assert (described.get("x-beta"), described.get("x-extension")) == (
        (True, None) if specified else (None, True)
    )
    first = "Beta. " if specified else "Extension to the specification. "
    assert described["description"].startswith(first)


def test_servers_and_tags(document: Document) -> None:
    assert document["servers"] == [{"url": "/"}]
    assert [tag["name"] for tag in document["tags"]] == ["Carts", "Items"]
    assert all(tag["description"] for tag in document["tags"])
    for name in OPERATIONS:
        expected = "Items" if name.endswith("Item") else "Carts"
        assert operation(document, name)["tags"] == [expected]


@pytest.mark.parametrize(
    ("name", "statuses"),
    [
        ("createCart", "200 400 401 403 409 413 415 422 429 500 503"),
        ("listCarts", "200 400 401 403 429 500 503"),
        ("getCart", "200 400 401 403 404 429 500 503"),
        ("addItem", "200 400 401 403 404 409 412 413 415 422 429 500 503"),
        ("updateItem", "200 400 401 403 404 412 413 415 429 500 503"),
        ("removeItem", "200 400 401 403 404 412 429 500 503"),
    ],
)
def test_every_status_of_an_operation(name: str, statuses: str, document: Document) -> None:
    described = operation(document, name)
    found = [status for status in described["responses"] if status != "304"]
    assert " ".join(found) == statuses
    taken = {parameter["name"] for parameter in described["parameters"]}
    assert ("304" in described["responses"]) == ("If-None-Match" in taken)


@pytest.mark.parametrize("name", OPERATIONS)
def test_parameters_stand_in_the_order_of_the_path(name: str, document: Document) -> None:
    described = operation(document, name)
    keys = re.findall(r"\{(\w+)\}", OPERATIONS[name][1])
    assert [one["name"] for one in described["parameters"][: len(keys)]] == keys
    assert {one["in"] for one in described["parameters"][len(keys) :]} <= {"query", "header"}
    for parameter in described["parameters"]:
        assert parameter["description"]
        # What is optional has no example: pages that try an operation would send it.
        assert ("example" in parameter) == parameter["required"] == (parameter["in"] == "path")
        if "example" in parameter:
            validator = jsonschema_rs.validator_for(parameter["schema"])
            assert validator.is_valid(parameter["example"])


@pytest.mark.parametrize("name", OPERATIONS)
def test_headers_of_answers(name: str, document: Document) -> None:
    always = {"X-Request-ID", "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"}
    answers = operation(document, name)["responses"]
    for status, answer in answers.items():
        assert always <= set(answer["headers"])
        assert answer["description"]
        assert all(header["description"] for header in answer["headers"].values())
        assert ("Retry-After" in answer["headers"]) == (status in {"429", "503"})
        assert ("WWW-Authenticate" in answer["headers"]) == (status in {"401", "403"})


@pytest.mark.parametrize("name", ["getCart", "listCarts"])
def test_head_is_told_with_get(name: str, document: Document) -> None:
    assert "HEAD answers" in operation(document, name)["description"]


@pytest.mark.parametrize("name", OPERATIONS)
def test_what_an_operation_takes_brings_its_answers(name: str, document: Document) -> None:
    described = operation(document, name)
    taken = {parameter["name"] for parameter in described["parameters"]}
    headers = {status: answer["headers"] for status, answer in described["responses"].items()}
    success = headers["200"]
    assert ("Idempotent-Replayed" in success) == ("Idempotency-Key" in taken)
    assert ("Preference-Applied" in success) == ("Prefer" in taken)
    assert all(not success[sent]["required"] for sent in SOMETIMES & success.keys())
    # A replay has none.
    assert "ETag" not in success or success["ETag"]["required"] == ("Idempotency-Key" not in taken)
    for status in {"304", "412"} & headers.keys():
        assert headers[status]["ETag"]["required"]
    assert "content" not in described["responses"].get("304", {})


@pytest.mark.parametrize(
    ("name", "targets"),
    [
        ("createCart", ["getCart", "changeCart", "deleteCart", "addItem"]),
        ("addItem", ["updateItem", "changeItem", "removeItem"]),
    ],
)
def test_links_resolve(name: str, targets: list[str], document: Document) -> None:
    described = operation(document, name)
    answer = described["responses"]["200"]
    assert [link["operationId"] for link in answer["links"].values()] == targets
    sent = {f"$request.path.{key}" for key in re.findall(r"\{(\w+)\}", OPERATIONS[name][1])}
    example = answer["content"]["application/json"]["examples"]["success"]["value"]
    data = example["data"]
    given = {f"$response.body#/data/{key}" for key in data}
    for link in answer["links"].values():
        keys = re.findall(r"\{(\w+)\}", OPERATIONS[link["operationId"]][1])
        assert list(link["parameters"]) == keys
        assert set(link["parameters"].values()) <= sent | given


def test_docs_page_brings_its_own_files(client: Client, db: None) -> None:
    page = client.get("/docs").content.decode()
    sources = [part.split('"')[0] for part in page.split('src="')[1:]]
    assert sources
    assert all(source.startswith("/") for source in sources)
    for source in sources:
        with closing(client.get(source)) as answer:
            assert answer.status_code == 200
