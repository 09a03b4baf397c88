"""What the document says of an operation's answers: statuses, headers, links, examples."""

from http import HTTPStatus

from carts.errors import CurrencyMismatch, InvalidCurrency, TooManyDecimals
from carts.limits import INT32_MAX
from carts.openapi import descriptions
from carts.openapi.examples import failure_example, success_example, warning_example
from carts.openapi.schemas import Schema, envelope_name, ref
from cartsvc.api.operation import Operation
from cartsvc.errors import (
    InsufficientScope,
    InternalError,
    InvalidGuid,
    InvalidParameter,
    InvalidToken,
    InvalidType,
    MalformedJson,
    MaxLength,
    MinValue,
    NotAuthenticated,
    PayloadTooLarge,
    ProfileMismatch,
    Refusal,
    Required,
    Throttled,
    Unavailable,
    UnknownMember,
    UnsupportedMediaType,
)

# Problems that any operation may have. Below, some of those of bodies and of pages.
OF_ANY = (
    InvalidGuid,
    NotAuthenticated,
    InvalidToken,
    InsufficientScope,
    ProfileMismatch,
    Throttled,
    InternalError,
    Unavailable,
)
OF_BODIES = (
    Required,
    InvalidType,
    MaxLength,
    MinValue,
    TooManyDecimals,
    InvalidCurrency,
    CurrencyMismatch,
    UnknownMember,
    MalformedJson,
    PayloadTooLarge,
    UnsupportedMediaType,
)
OF_PAGES = (InvalidParameter,)

_NUMBER: Schema = {"type": "integer", "format": "int32", "minimum": 1, "maximum": INT32_MAX}

HEADERS: dict[str, Schema] = {
    "X-Request-ID": {"type": "string", "pattern": "^[A-Za-z0-9._-]{8,64}$"},
    "RateLimit-Limit": _NUMBER,
    "RateLimit-Remaining": {**_NUMBER, "minimum": 0},
    "RateLimit-Reset": _NUMBER,
    "ETag": {"type": "string", "pattern": '^"[1-9][0-9]*"$'},
    "Idempotent-Replayed": {"type": "string", "enum": ["true"]},
    "Preference-Applied": {"type": "string", "enum": ["handling=strict"]},
    "Retry-After": _NUMBER,
    "WWW-Authenticate": {"type": "string"},
}
SOMETIMES = {"Idempotent-Replayed", "Preference-Applied"}

_CART = {"profileKey": "$request.path.profileKey", "cartId": "$response.body#/data/cartId"}
_ITEM = {
    "profileKey": "$request.path.profileKey",
    "cartId": "$request.path.cartId",
    "itemId": "$response.body#/data/itemId",
}
# By the name of the data, whose identifiers they use.
LINKS: dict[str, Schema] = {
    "CartCreated": {
        "getCart": {"operationId": "getCart", "parameters": _CART},
        "addItem": {"operationId": "addItem", "parameters": _CART},
    },
    "ItemAdded": {
        "updateItem": {"operationId": "updateItem", "parameters": _ITEM},
        "removeItem": {"operationId": "removeItem", "parameters": _ITEM},
    },
}


def answers(operation: Operation) -> Schema:
    """Return the answers of an operation by status."""
    described = {"200": _success(operation)}
    if "If-None-Match" in operation.takes:
        headers = _headers("ETag")
        described["304"] = {"description": descriptions.NOT_MODIFIED, "headers": headers}
    found = problems_of(operation)
    for status in sorted({problem.status for problem in found}):
        same = [problem for problem in found if problem.status == status]
        described[str(status)] = _refusal(operation, HTTPStatus(status), same)
    return described


def problems_of(operation: Operation) -> tuple[type[Refusal], ...]:
    """Return the problems that the document tells of an operation."""
    bodies = OF_BODIES if operation.body else ()
    pages = OF_PAGES if operation.data == "CartPage" else ()
    return (*bodies, *pages, *OF_ANY, *operation.problems)


def _success(operation: Operation) -> Schema:
    # A replay is answered without asking for the cart's version.
    replays = "Idempotent-Replayed" in operation.gives
    sometimes = SOMETIMES | ({"ETag"} if replays else set())
    answer = {
        "description": "Success",
        "headers": _headers(*operation.gives, sometimes=sometimes),
        "content": {
            "application/json": {
                "schema": ref(envelope_name(operation)),
                "examples": _successes(operation),
            }
        },
    }
    links = LINKS.get(operation.data or "")
    return {**answer, "links": links} if links else answer


def _successes(operation: Operation) -> Schema:
    told = {"success": {"summary": descriptions.DONE, "value": success_example(operation)}}
    if operation.body:
        warning = {"summary": UnknownMember.meaning, "value": warning_example(operation)}
        told[UnknownMember.code] = warning
    return told


def _refusal(operation: Operation, status: HTTPStatus, same: list[type[Refusal]]) -> Schema:
    told: tuple[str, ...] = ()
    if status in {401, 403}:
        told = ("WWW-Authenticate",)
    elif status in {429, 503}:
        told = ("Retry-After",)
    elif status == 412 and "ETag" in operation.gives:
        told = ("ETag",)
    meaning = " ".join(problem.meaning for problem in same)
    if status == 400:  # too many to name
        meaning = descriptions.BAD_REQUEST
    examples = {
        problem.code: {
            "summary": problem.meaning,
            "value": failure_example(operation, problem),
        }
        for problem in same
    }
    return {
        "description": f"{status.phrase}. {meaning}",
        # 403 has a challenge for the scope only.
        "headers": _headers(*told, sometimes=set(told) if status == 403 else set()),
        "content": {"application/json": {"schema": ref("ErrorResponse"), "examples": examples}},
    }


def _headers(*names: str, sometimes: set[str] | frozenset[str] = frozenset()) -> Schema:
    common = ("X-Request-ID", "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset")
    return {
        name: {
            "description": descriptions.HEADERS[name],
            "schema": HEADERS[name],
            "required": name not in sometimes and not name.startswith("RateLimit-"),
        }
        for name in (*common, *names)
    }
