"""How long the database may keep one request waiting, with all its statements together.

The clock starts when a request first waits, because its body may take any time to arrive.
What runs outside of a request is not timed.
"""

import math
from contextvars import ContextVar
from functools import cache
from time import monotonic

from django.conf import settings
from django.db import connection

from cartsvc.db.database_url import REQUEST_SECONDS

# When the request's time is up. The middleware sets None: it has not waited yet.
deadline: ContextVar[float | None] = ContextVar("deadline", default=math.inf)


def request_deadline() -> float:
    """Return when the request's time is up: in REQUEST_SECONDS, if it has not waited yet."""
    end = deadline.get()
    if end is None:
        end = monotonic() + REQUEST_SECONDS
        deadline.set(end)
    return end


@cache
def connect_for_requests() -> None:
    """Let this process connect as requests do: in time, and through the pooler if there is one.

    What serves requests calls this before it connects. All else has no timeouts.
    """
    connection.close()
    connection.settings_dict.update(settings.DATABASE_OF_REQUESTS)  # which all threads share
