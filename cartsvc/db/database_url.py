"""What DATABASE_URL says. PostgreSQL's own library reads it, lists of hosts included."""

from typing import Any
from urllib.parse import unquote, urlsplit

from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict


def database_at(url: str) -> dict[str, Any]:
    """Return the database at a URL, as an entry of Django's DATABASES.

    Raises:
        ValueError: the URL is none of PostgreSQL or SQLite. The text does not repeat it, because
            it may hold a password.
    """
    if url.startswith("sqlite://"):
        file = urlsplit(url)
        name = unquote(file.path[1:] or file.netloc)
        if name != ":memory:" and (file.netloc or not name):
            raise ValueError(
                "it must name a file: sqlite:///db.sqlite3 in the working directory, or "
                "sqlite:////srv/db.sqlite3."
            )
        return {"ENGINE": "cartsvc.db.sqlite", "NAME": name, "OPTIONS": {}}
    if not url.startswith(("postgres://", "postgresql://")):
        raise ValueError("it must begin with postgres:// or sqlite://.")
    try:
        parts: dict[str, Any] = conninfo_to_dict(url)
    except ProgrammingError:
        parts = {"port": "unreadable"}
    hosts, ports = (str(parts.get(name, "")).split(",") for name in ("host", "port"))
    if (
        any("@" in host for host in hosts)
        or not all(port == "" or (port.isdecimal() and 0 < int(port) < 65536) for port in ports)
        or len(ports) not in {1, len(hosts)}
    ):
        raise ValueError(
            "it is not such as postgres://user:password@host:5432/name, with several hosts "
            "separated by commas. Percent-encode what is special in a password."
        )
    return {
        "ENGINE": "cartsvc.db.postgresql",
        **{
            key: parts.pop(name, "")
            for key, name in {
                "NAME": "dbname",
                "USER": "user",
                "PASSWORD": "password",
                "HOST": "host",
                "PORT": "port",
            }.items()
        },
        "OPTIONS": parts,
    }
