"""How to connect to the database at a URL: for a command, or in time for a request."""

import re
from functools import cache
from typing import Any, TypeAlias
from urllib.parse import unquote

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import connection
from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict

from cartsvc.db.time_limits import (
    CONNECT_SECONDS,
    IDLE_SECONDS,
    LOCK_SECONDS,
    STATEMENT_SECONDS,
)

# An entry of Django's DATABASES.
Database: TypeAlias = dict[str, Any]

SQLITE = "cartsvc.db.sqlite"
POSTGRESQL = "cartsvc.db.postgresql"

# A statement is prepared at its sixth use on a connection, and planned no more.
USES_BEFORE_PREPARING = 5


def connection_settings(url: str, *, for_requests: bool = False, pooled: bool = False) -> Database:
    """Return an entry of Django's DATABASES. One that is `for_requests` has their timeouts.

    A pooler takes no settings for a session, so they stand with the role, and a check compares them
    with SESSION.
    """
    database = database_at(url)
    if database["ENGINE"] == SQLITE:
        return database | {
            "OPTIONS": {
                # A deferred transaction that reads before it writes cannot wait for the lock.
                "transaction_mode": "IMMEDIATE",
                "timeout": LOCK_SECONDS,
                "init_command": "PRAGMA journal_mode=WAL",
            },
            "MUST_EXIST": for_requests,
        }
    session = {
        "jit": "off",  # which would take longer than any of our queries
        "lock_timeout": f"{LOCK_SECONDS * 1000}",
        "statement_timeout": f"{STATEMENT_SECONDS * 1000 if for_requests else 0}",
        "idle_in_transaction_session_timeout": f"{IDLE_SECONDS * 1000 if for_requests else 0}",
    }
    options = database["OPTIONS"] | {
        # Each host's share of the time.
        "connect_timeout": max(1, CONNECT_SECONDS // len(database["HOST"].split(","))),
        "tcp_user_timeout": CONNECT_SECONDS * 1000,
        # Notice a server that was lost while nobody asked it: the next request would.
        "keepalives_idle": 5,
        "keepalives_interval": 1,
        "keepalives_count": 3,
        "application_name": "cartsvc",
        # A frequent statement is then planned once per connection, not once per request.
        "server_side_binding": True,
        "prepare_threshold": None if pooled else USES_BEFORE_PREPARING,
    }
    if not pooled:
        ours = [f"-c {name}={value}" for name, value in session.items()]
        options["options"] = " ".join([options.get("options", ""), *ours]).strip()
    return database | {
        "OPTIONS": options,
        "SESSION": session,
        "DISABLE_SERVER_SIDE_CURSORS": pooled,
    }


def database_at(url: str) -> Database:
    """Return the address of the database at a URL. No error repeats it: it may hold a password."""
    if url.startswith("sqlite:///"):
        # In memory, each worker would have a database of its own, without tables.
        if not re.fullmatch(r"sqlite:///[^:?#][^?#]*", url):
            raise ImproperlyConfigured("DATABASE_URL: sqlite:/// must be followed by a path alone.")
        name = unquote(url.removeprefix("sqlite:///"))
        return {"ENGINE": SQLITE, "NAME": name, "OPTIONS": {}}
    if not url.startswith(("postgres://", "postgresql://")):
        raise ImproperlyConfigured("DATABASE_URL must begin with postgres:// or sqlite:///.")
    try:
        parts: Database = conninfo_to_dict(url)
    except ProgrammingError as error:
        text = str(error).partition(': "')[0]  # what follows is a part of the URL
        raise ImproperlyConfigured(f"DATABASE_URL: {text}.") from None
    # A password with a special character may have become a part of a host or a port.
    if "@" in str(parts.get("host")) or re.search("[^0-9,]", str(parts.get("port", ""))):
        raise ImproperlyConfigured("DATABASE_URL: percent-encode what is special in the password.")
    address = {
        key.upper(): parts.pop("dbname" if key == "name" else key, "")
        for key in ("name", "user", "password", "host", "port")
    }
    return {"ENGINE": POSTGRESQL, **address, "OPTIONS": parts}


@cache
def connect_for_requests() -> None:
    """Let this process connect as requests do: in time, and through the pooler if there is one."""
    connection.close()
    connection.settings_dict.update(settings.DATABASE_OF_REQUESTS)  # which all threads share
