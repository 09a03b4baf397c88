"""How the environment's variables are read, and what is refused of them, each by itself."""

import re
from collections.abc import Callable
from ipaddress import ip_network
from typing import cast
from urllib.parse import urlsplit

from environs import Env, EnvValidationError, ValidationError, validate

LOOPBACK = ["localhost", "127.0.0.1", "[::1]"]

RATE = re.compile(r"([1-9]\d*)/([1-9]\d*)?(s|m|h|d|sec|min|hour|day)", re.ASCII)

# A domain that stands for every name under it has a dot inside.
_HOST = re.compile(
    r"[\w-]+(\.[\w-]+)*\.?|\.[\w-]+(\.[\w-]+)+\.?|\[[0-9a-f:.]+\]", re.ASCII | re.IGNORECASE
)


def between(least: int, most: int) -> validate.Range:
    return validate.Range(least, most, error=f"must be from {least} to {most}, not {{input}}.")


def matching(pattern: str | re.Pattern[str], error: str) -> Callable[[str], None]:
    """Return a validator of texts that the whole pattern matches. An empty one is as if unset."""
    compiled = re.compile(pattern)

    def check(text: str) -> None:
        if text and not compiled.fullmatch(text):
            raise ValidationError(error)

    return check


def are_hosts(hosts: list[str]) -> None:
    for host in hosts or [""]:
        if not _HOST.fullmatch(host):
            raise ValidationError(
                f"must list names such as api.example.com, or .example.com for every name under "
                f"it, separated by commas, and not {host!r}."
            )


def are_proxies(proxies: list[str]) -> None:
    for proxy in proxies:
        try:
            _ = proxy == "*" or ip_network(proxy, strict=False)
        except ValueError:
            raise ValidationError(
                "must list addresses and networks, such as 10.0.0.9 or 10.0.0.0/8, separated by "
                f"commas, or be *; and not {proxy!r}."
            ) from None


def is_safe_address(url: str) -> None:
    """Refuse an address where keys could be exchanged on the way: it is HTTPS or loopback."""
    try:
        parts = urlsplit(url)
        host, _port = parts.hostname, parts.port
    except ValueError:
        host = None
    local = host in {name.strip("[]") for name in LOOPBACK}
    if url and (
        not host
        or "@" in parts.netloc
        or not (parts.scheme == "https" or (parts.scheme == "http" and local))
    ):
        raise ValidationError("must be an https:// address, without a user's name.")


def seal(env: Env) -> None:
    """End the reading.

    Raises:
        ValueError: some variables cannot be used. The text has a line on each.
    """
    try:
        env.seal()
    except EnvValidationError as error:
        messages = cast("dict[str, list[str]]", error.error_messages)
        lines = [f"{name}: {' '.join(said)}" for name, said in messages.items()]
        raise ValueError("\n".join(["", *lines, "(cartsvc/README.md, Configuration)"])) from None
