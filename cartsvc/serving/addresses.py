"""The addresses at which the service listens: HOST:PORT or unix:PATH."""

import errno
import os
import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager
from hashlib import sha256
from ipaddress import IPv6Address
from pathlib import Path
from typing import Any

# The longest path of a socket: unix(7).
MAX_PATH_BYTES = 107


def address_of(bind: str) -> dict[str, Any]:
    """Return the arguments by which Granian listens there.

    Raises ValueError or OSError if it is no address, or no such host is known.
    """
    if bind.startswith("unix:"):
        return {"uds": Path(bind.removeprefix("unix:"))}
    host, _, port = bind.rpartition(":")
    if not port.isdecimal() or not int(port):  # 0 is any port, which nobody would find
        raise ValueError("it does not end with the number of a port")
    if host.startswith("["):
        return {"address": str(IPv6Address(host.strip("[]"))), "port": int(port)}
    if not host or ":" in host:
        raise ValueError(f"did you mean {f'[{host}]' if host else '127.0.0.1'}:{port}?")
    return {"address": socket.gethostbyname(host), "port": int(port)}


@contextmanager
def claimed(bind: str) -> Iterator[dict[str, Any]]:
    """Hold an address, which it yields, against every other service. Raises as `address_of` does.

    The kernel would let two services share a port, because the workers of one do.
    """
    address = address_of(bind)
    name = sha256(str(address).encode()).hexdigest()
    with closing(socket.socket(socket.AF_UNIX)) as claim:
        claim.bind(f"\0cartsvc-{name}")  # no file, and gone with the process
        if path := address.get("uds"):
            _check_free_file(path)
        else:
            family = socket.AF_INET6 if ":" in address["address"] else socket.AF_INET
            with closing(socket.socket(family)) as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind((address["address"], address["port"]))
        yield address


def _check_free_file(path: Path) -> None:
    """Refuse a path that cannot be made, but remove the socket that a killed server has left."""
    if not path.parent.is_dir():
        raise FileNotFoundError("its folder does not exist")
    if len(os.fsencode(path)) > MAX_PATH_BYTES:
        raise ValueError(f"it has more than {MAX_PATH_BYTES} bytes")
    with closing(socket.socket(socket.AF_UNIX)) as probe:
        if path.is_socket() and probe.connect_ex(str(path)) == errno.ECONNREFUSED:
            path.unlink()
    if path.exists():
        raise FileExistsError("it is taken")
