"""Which proxies are trusted, and the caller behind one.

A trusted proxy connects from FORWARDED_ALLOW_IPS, or through a socket file, whose mode says who may
use it. It must set X-Forwarded-Proto itself and add the address of its own caller at the end of
X-Forwarded-For. Granian's own wrapper trusts no socket file, and no IPv4 address that comes by
IPv6.
"""

from collections.abc import Callable
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

from django.conf import settings
from django.http import HttpRequest, HttpResponse


def trust_proxies(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Replace a proxy's address and scheme by the caller's (middleware)."""

    def middleware(request: HttpRequest) -> HttpResponse:
        environ, proxies = request.META, tuple(settings.FORWARDED_ALLOW_IPS)
        peer = environ.get("REMOTE_ADDR", "")
        if not _address(peer) or _is_proxy(peer, proxies):
            scheme = environ.get("HTTP_X_FORWARDED_PROTO", "").rpartition(",")[2].strip().lower()
            if scheme in {"http", "https"}:
                environ["wsgi.url_scheme"] = scheme
            # What stands before the last entry that is no proxy's was written by a caller.
            for entry in reversed(environ.get("HTTP_X_FORWARDED_FOR", "").split(",")):
                if not _is_proxy(caller := entry.strip(), proxies):
                    break
            # Nobody's, rather than the proxy's own, which would make all its callers one.
            environ["REMOTE_ADDR"] = caller if _address(caller) else ""
        return get_response(request)

    return middleware


def client_network(request: HttpRequest) -> str:
    """Return the caller's IPv4 address or IPv6 /64, or `::` if only a proxy's is known."""
    address = _address(request.META.get("REMOTE_ADDR", ""))
    if address is None:
        return "::"
    return str(ip_network((address, 64 if address.version == 6 else 32), strict=False)[0])


@lru_cache(maxsize=10_000)
def _is_proxy(text: str, proxies: tuple[str, ...]) -> bool:
    address = _address(text)
    return address is not None and any(
        address in ip_network(proxy, strict=False) for proxy in proxies
    )


@lru_cache(maxsize=1000)
def _address(text: str) -> IPv4Address | IPv6Address | None:
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address
