"""An operation of an API, declared once: on the method of the view that serves it.

Permissions, logs, metrics and the API document read the declaration.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from django.http import HttpRequest
from prometheus_client import Counter
from rest_framework.serializers import BaseSerializer

from cartsvc.api.problems import ProblemType

Method = TypeVar("Method", bound=Callable[..., Any])

# All that are declared, once the URLs are loaded.
OPERATIONS: list["Operation"] = []


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """What is declared of an operation.

    Any one of `scopes` opens it; the last one opens every operation. `problems` are those
    that it has beyond any other operation's. `data` names the schema of the answer's
    payload, `takes` and `gives` the headers of its own. `counter` counts its successes.
    """

    name: str
    description: str
    scopes: tuple[str, ...]
    problems: tuple[ProblemType, ...] = ()
    body: type[BaseSerializer[Any]] | None = None
    data: str | None = None
    takes: tuple[str, ...] = ()
    gives: tuple[str, ...] = ()
    specified: bool = False
    counter: Counter | None = None

    def __call__(self, method: Method) -> Method:
        """Declare this operation of a view's method: a decorator."""
        vars(method)["operation"] = self
        OPERATIONS.append(self)
        return method


def operation_of(view: object, action: str | None) -> Operation | None:
    """Return what the view, or its class, declares of the action."""
    return getattr(getattr(view, action or "", None), "operation", None)


def requested(request: HttpRequest) -> Operation | None:
    """Return the operation that a request asked for, if its path and method name one."""
    view: Any = request.resolver_match and request.resolver_match.func
    action = getattr(view, "actions", {}).get((request.method or "").lower())
    return operation_of(view.cls, action) if action else None
