"""Looking up the addresses of hosts, in time. The system's own look-up takes no time-out."""

import socket
from threading import TIMEOUT_MAX, Lock, Thread
from time import monotonic
from typing import ClassVar


class _LookUp(Thread):
    """Looks one host up, for all who ask meanwhile. It goes on when they no longer wait."""

    lock = Lock()
    running: ClassVar[dict[str, "_LookUp"]] = {}

    def __init__(self, host: str) -> None:
        super().__init__(name=f"look up {host}", daemon=True)
        self.host = host
        self.addresses: list[str] = []
        self.error: Exception = TimeoutError("the name servers did not answer in time")

    def run(self) -> None:
        try:
            found = socket.getaddrinfo(self.host, None, type=socket.SOCK_STREAM)
            self.addresses = [str(entry[4][0]) for entry in found]
        except (OSError, UnicodeError) as error:
            self.error = error

    @classmethod
    def of(cls, host: str) -> "_LookUp":
        with cls.lock:
            if host not in cls.running or not cls.running[host].is_alive():
                cls.running[host] = cls(host)
                cls.running[host].start()
            return cls.running[host]


def addresses_of(hosts: list[str], seconds: float) -> dict[str, list[str]]:
    """Return the addresses of each host, within so many seconds for all together.

    Raises OSError if no host has an address.
    """
    end = monotonic() + seconds
    lookups = [_LookUp.of(host) for host in hosts]
    for lookup in lookups:
        lookup.join(min(max(0, end - monotonic()), TIMEOUT_MAX))
    found = {lookup.host: lookup.addresses for lookup in lookups}
    if not any(found.values()):
        raise OSError("; ".join(f"{lookup.host}: {lookup.error}" for lookup in lookups))
    return found
