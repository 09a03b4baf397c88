"""How long the database may take, in seconds: each limit, and when a request's time is up."""

import math
import time
from contextvars import ContextVar

# Every connection. The first is for all hosts together.
CONNECT_SECONDS = 3
LOCK_SECONDS = 2
# Of requests: for a statement, and for a transaction that is idle.
STATEMENT_SECONDS = 3
IDLE_SECONDS = 10
# Of a request in all, connecting and COMMIT included.
REQUEST_SECONDS = STATEMENT_SECONDS + 1

# When the request's time is up. The middleware sets None: it has not waited yet.
deadline: ContextVar[float | None] = ContextVar("deadline", default=math.inf)


def request_deadline() -> float:
    """Return when the request's time is up: in REQUEST_SECONDS, if it has not waited yet."""
    end = deadline.get()
    if end is None:
        end = time.monotonic() + REQUEST_SECONDS
        deadline.set(end)
    return end
