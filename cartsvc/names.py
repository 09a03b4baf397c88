"""Looking up the addresses of hosts, in time. The system's own look-up takes no time-out."""

import socket
from threading import TIMEOUT_MAX, Thread
from time import monotonic


def addresses_of(hosts: list[str], seconds: float) -> dict[str, list[str]]:
    """Return the addresses of each host, within so many seconds for all together.

    Raises OSError if no host has an address.
    """
    found: dict[str, list[str]] = {}
    errors: dict[str, Exception] = {}

    def look_up(host: str) -> None:
        try:
            entries = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
            found[host] = [str(entry[4][0]) for entry in entries]
        except (OSError, UnicodeError) as error:
            errors[host] = error

    end = monotonic() + seconds
    threads = [Thread(target=look_up, args=[host], daemon=True) for host in hosts]
    for thread in threads:
        thread.start()
    for thread in threads:  # one that is late ends by itself
        thread.join(min(max(0, end - monotonic()), TIMEOUT_MAX))
    # A late thread may still add to `found`, so it is read once, host by host.
    in_time = {host: found.get(host, []) for host in hosts}
    if not any(in_time.values()):
        late = TimeoutError("the name servers did not answer in time")
        raise OSError("; ".join(f"{host}: {errors.get(host, late)}" for host in hosts))
    return in_time
