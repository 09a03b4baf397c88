"""An operation of an API, declared once, on the view method that serves it.

Permissions, logs, metrics and the API document read the declaration.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from cartsvc.request_errors import ApiError
from cartsvc.serving.metrics import Counter

Method = TypeVar("Method", bound=Callable[..., Any])

# Every declared operation. Complete once the URLs are loaded.
OPERATIONS: list["Operation"] = []


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """The declaration of an operation.

    `scope` opens it, and a 403 names it; `other_scopes` open it, too. `message` is what its success
    says. `body` is a serializer of the request's body, which is of one of the `media_types`;
    `data` names the schema of the answer's. `query` names its query parameters. `takes`, `gives`
    and `errors` are the request headers, answer headers and errors that not every operation
    has. The specification has the operation if it is `specified`. `counter` counts the successes.
    """

    name: str
    description: str
    message: str
    scope: str
    other_scopes: tuple[str, ...] = ()
    errors: tuple[type[ApiError], ...] = ()
    body: Any = None
    media_types: tuple[str, ...] = ("application/json",)
    data: str | None = None
    query: tuple[str, ...] = ()
    takes: tuple[str, ...] = ()
    gives: tuple[str, ...] = ()
    specified: bool = False
    counter: Counter | None = None

    @property
    def may_represent(self) -> bool:
        """Whether a change answers with what it has made, to who prefers that (RFC 7240)."""
        return "Prefer" in self.takes and not self.specified

    @property
    def scopes(self) -> tuple[str, ...]:
        """The scopes of which a token needs one."""
        return (*self.other_scopes, self.scope)

    def __call__(self, method: Method) -> Method:
        """Declare that the decorated view method serves this operation."""
        vars(method)["operation"] = self
        OPERATIONS.append(self)
        return method


def operation_of(view: object, action: str | None) -> Operation | None:
    """Return the operation that the view or view class declares for the action, if any."""
    return getattr(getattr(view, action or "", None), "operation", None)
