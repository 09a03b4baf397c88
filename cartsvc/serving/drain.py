"""The drain: for DRAIN_SECONDS after SIGTERM, an instance still serves and asks callers to leave.

`/readyz` is 503, so that load balancers choose another instance, and each response closes its
connection. `cartsvc.serving.server` handles the signal.
"""

import mmap
from collections.abc import Callable, Iterable
from typing import Any

Application = Callable[..., Iterable[bytes]]

# In the WSGI environ of a request that arrives during the drain.
DRAINING = "cartsvc.draining"


class Drainable:
    """A WSGI application with a drain, which the parent begins in all of its workers at once.

    It is made before the workers are forked, because they share its byte of memory.
    """

    def __init__(self, application: Application) -> None:
        self.application = application
        self.begun = mmap.mmap(-1, 1)

    def begin(self) -> None:
        self.begun[0] = 1

    @property
    def drains(self) -> bool:
        return bool(self.begun[0])

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        if not self.drains:
            return self.application(environ, start_response)

        def start_last_response(status: str, headers: list[tuple[str, str]], *exc_info: Any) -> Any:
            return start_response(status, [*headers, ("Connection", "close")], *exc_info)

        environ[DRAINING] = True
        return self.application(environ, start_last_response)
