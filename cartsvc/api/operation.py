"""An operation of an API, declared once, on the view method that serves it.

Permissions, logs, metrics and the API document read the declaration.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from django.http import HttpRequest
from prometheus_client import Counter
from rest_framework.serializers import BaseSerializer

from cartsvc.errors import Refusal

Method = TypeVar("Method", bound=Callable[..., Any])

# Every declared operation. Complete once the URLs are loaded.
OPERATIONS: list["Operation"] = []


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """The declaration of an operation.

    A token needs any one of `scopes`; the last of them opens every operation. `problems` are
    those that not every operation has. `data` names the schema of the answer's payload.
    `takes` names the request headers and `gives` the answer headers that are specific to the
    operation. `specified` tells the specification's operations from the extensions. `counter`
    counts the successes.
    """

    name: str
    description: str
    scopes: tuple[str, ...]
    problems: tuple[type[Refusal], ...] = ()
    body: type[BaseSerializer[Any]] | None = None
    data: str | None = None
    takes: tuple[str, ...] = ()
    gives: tuple[str, ...] = ()
    specified: bool = False
    counter: Counter | None = None

    def __call__(self, method: Method) -> Method:
        """Declare that the decorated view method serves this operation."""
        vars(method)["operation"] = self
        OPERATIONS.append(self)
        return method


def operation_of(view: object, action: str | None) -> Operation | None:
    """Return the operation that the view or view class declares for the action, if any."""
    return getattr(getattr(view, action or "", None), "operation", None)


def requested(request: HttpRequest) -> Operation | None:
    """Return the operation that the request's path and method name, or None."""
    view: Any = request.resolver_match and request.resolver_match.func
    action = getattr(view, "actions", {}).get((request.method or "").lower())
    return operation_of(view.cls, action) if action else None
