"""The address at which the service listens: HOST:PORT or unix:PATH."""

import errno
import socket
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit


def free_address(bind: str) -> dict[str, Any]:
    """Return Granian's arguments for `bind`. Raise ValueError or OSError if nothing can listen.

    The server itself would share its port with another one of its kind, and say nothing. Of two
    that start at the same moment, it still does.
    """
    if bind.startswith("unix:"):
        path = Path(bind.removeprefix("unix:"))
        with socket.socket(socket.AF_UNIX) as probe:
            # A killed server has left its file.
            if path.is_socket() and probe.connect_ex(str(path)) == errno.ECONNREFUSED:
                path.unlink()
        _try_to_bind(socket.AF_UNIX, str(path))
        path.unlink()
        return {"uds": path}
    parts = urlsplit(f"//{bind}")
    if not parts.hostname or not parts.port:
        raise ValueError("it is neither HOST:PORT, such as [::1]:8000, nor unix:/path")
    # IPv4 first: the smaller family.
    family, *_, where = min(socket.getaddrinfo(parts.hostname, parts.port, type=socket.SOCK_STREAM))
    _try_to_bind(family, where)
    return {"address": str(where[0]), "port": parts.port}


def _try_to_bind(family: int, where: str | tuple[str | int | bytes, ...]) -> None:
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(where)
