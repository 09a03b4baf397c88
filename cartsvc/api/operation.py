"""An operation of an API, declared once, on the view method that serves it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from cartsvc.api.query import QueryParameter
from cartsvc.request_errors import ApiError

Method = TypeVar("Method", bound=Callable[..., Any])

# Every declared operation. Complete once the URLs are loaded.
OPERATIONS: list["Operation"] = []


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """The declaration of an operation.

    A token needs one of the `scopes`, the last of which a 403 asks for, or all of them if it
    `needs_all_scopes`. `body` is a serializer, and `data` names the schema of the answer's data.
    Headers and `errors` leave out what every operation has. `specified` says that the specification
    has the operation.
    """

    name: str
    description: str
    message: str
    scopes: tuple[str, ...]
    needs_all_scopes: bool = False
    errors: tuple[type[ApiError], ...] = ()
    body: Any = None
    body_is_optional: bool = False
    media_types: tuple[str, ...] = ("application/json",)
    data: str | None = None
    query_parameters: Mapping[str, QueryParameter] = field(default_factory=dict)
    request_headers: tuple[str, ...] = ()
    response_headers: tuple[str, ...] = ()
    specified: bool = False

    @property
    def can_return_representation(self) -> bool:
        """Whether a change answers with what it has made if the caller prefers it (RFC 7240)."""
        return "Prefer" in self.request_headers and not self.specified

    def __call__(self, method: Method) -> Method:
        vars(method)["operation"] = self
        OPERATIONS.append(self)
        return method
