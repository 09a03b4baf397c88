"""Validates each environment variable by itself, for `settings.py`, and makes missing secrets."""

import math
import os
import re
import secrets
from contextlib import suppress
from ipaddress import ip_network
from pathlib import Path
from typing import Any, cast

from django.core.exceptions import ImproperlyConfigured
from environs import EnvValidationError, FileAwareEnv, ValidationError, validate

LOOPBACK = ["localhost", "127.0.0.1", "[::1]"]

# A random secret has more.
DIFFERENT_CHARACTERS = 5

RATE = r"[1-9][0-9]{0,8}/(s|sec|m|min|h|hour|d|day)"

# A domain that stands for every name under it has a dot inside.
HOST = r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*\.?|(\.[A-Za-z0-9_-]+){2,}\.?|\[[0-9A-Fa-f:.]+\]"

# As browsers send it: they leave out the usual port, and write other scripts in ASCII.
ORIGIN = (
    r"file://|(?!https:.*:443\Z|http:.*:80\Z)[a-z][a-z0-9+.-]*://"
    r"([a-z0-9_-]+(\.[a-z0-9_-]+)*\.?|\[[0-9a-f:.]+\])(:[1-9][0-9]{0,4})?"
)

# Where nobody on the way can replace the keys: HTTPS or loopback.
KEYS_ADDRESS = (
    r"(https://[A-Za-z0-9_.-]+|http://(localhost|127\.0\.0\.1|\[::1\]))(:[0-9]+)?([/?].*)?"
)


class Environment(FileAwareEnv):
    """The variables. A value may stand in a file, whose path is in the variable with _FILE.

    `_get_value` is private to environs. If it moves, the error about such a file is a traceback
    again, and a test of `tests/service` fails.
    """

    def text(self, name: str, default: str, pattern: str, error: str) -> str:
        """Return a text that the whole pattern matches. An empty one is as if unset."""
        regexp = validate.Regexp(rf"({pattern})?\Z", re.DOTALL, error=error)
        return self.str(name, default, validate=regexp)

    def seal(self) -> None:
        """End the reading. The error has a line on each variable that cannot be used."""
        try:
            super().seal()
        except EnvValidationError as error:
            messages = cast("dict[str, list[str]]", error.error_messages)
            lines = [f"{name}: {' '.join(said)}" for name, said in messages.items()]
            text = "\n".join(["", *lines, "(cartsvc/README.md, Configuration)"])
            raise ImproperlyConfigured(text) from None

    def _get_value(self, env_key: str, default: Any) -> Any:
        file = f"{env_key}{self.file_suffix}"
        try:
            value = super()._get_value(env_key, default)
        except (OSError, ValueError) as error:
            text = f"{file} must name a text file that this user may read."
            raise ImproperlyConfigured(text) from error
        if os.environ.get(file):
            if os.environ.get(env_key):
                raise ImproperlyConfigured(f"{env_key} and {file} are both set: set one of them.")
            value = value.removeprefix("\ufeff")  # which an editor may write
            if not value:
                raise ImproperlyConfigured(f"{file} names an empty file.")
        try:
            str(value).encode()
        except UnicodeEncodeError:
            raise ImproperlyConfigured(f"{env_key} must be text in UTF-8.") from None
        return value


def between(least: int, most: int) -> validate.Range:
    return validate.Range(least, most, error=f"must be from {least} to {most}, not {{input}}.")


def are_hosts(hosts: list[str]) -> None:
    for host in hosts or [""]:
        if not re.fullmatch(HOST, host):
            raise ValidationError(
                "must list names such as api.example.com, or .example.com for every name under "
                f"it, separated by commas, and not {host!r}."
            )


def are_origins(origins: list[str]) -> None:
    for origin in origins:
        if not re.fullmatch(ORIGIN, origin):
            raise ValidationError(
                "must list origins as browsers send them, such as https://shop.example.com: in "
                "lower case and ASCII, without a path, *, the ports 443 and 80, or null, which any "
                f"page can have, and not {origin!r}."
            )


def is_random(secret: str) -> None:
    if secret and (len(secret) < 32 or len(set(secret)) < DIFFERENT_CHARACTERS):
        raise ValidationError("must have 50 random characters, not < 32 or a few again and again.")


def are_random(former: list[str]) -> None:
    for secret in former:
        is_random(secret or "-")  # after a last comma, what anybody signs would be ours


def are_proxies(proxies: list[str]) -> None:
    for proxy in set(proxies) - {"*"}:
        try:
            ip_network(proxy, strict=False)
        except ValueError as error:
            raise ValidationError(
                f"must list addresses and networks, separated by commas, or be *: {error}."
            ) from None


def usable_cores(limit: Path = Path("/sys/fs/cgroup/cpu.max")) -> int:
    """Return how many cores this process may use: by its affinity, and by its container's limit."""
    # Only Linux has either.
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    with suppress(OSError):
        quota, period = limit.read_text().split()
        if quota != "max":
            cores = min(cores or 1, math.ceil(int(quota) / int(period)))
    return cores or 1


def generated_secret(path: Path) -> str:
    """Return the secret in a file. It is made on first use, for its user only."""
    path.parent.mkdir(mode=0o700, exist_ok=True)
    if not path.exists():
        draft = path.with_suffix(f".{secrets.token_hex(4)}")
        draft.touch(mode=0o600)
        draft.write_text(secrets.token_urlsafe(64))
        with suppress(FileExistsError):  # another process has made it first
            os.link(draft, path)
        draft.unlink()
    return path.read_text()
