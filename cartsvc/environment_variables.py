"""Validates each environment variable by itself, for `settings.py`, and makes missing secrets."""

import math
import os
import re
import secrets
from collections.abc import Callable
from contextlib import suppress
from ipaddress import ip_network
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

from environs import ValidationError, validate
from marshmallow.fields import Boolean

Boolean.default_error_messages["invalid"] = "must be 1 or 0."
LOOPBACK = ["localhost", "127.0.0.1", "[::1]"]


def matching(pattern: str, error: str) -> validate.Regexp:
    return validate.Regexp(rf"({pattern})\Z", re.DOTALL, error=error)


def validate_each(validator: Callable[[str], object]) -> Callable[[list[str]], object]:
    return lambda texts: [validator(text) for text in texts]


# A domain that stands for every name under it has a dot inside.
host_name = matching(
    r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*\.?|(\.[A-Za-z0-9_-]+){2,}\.?|\[[0-9A-Fa-f:.]+\]",
    "must list names such as api.example.com, or .example.com for every name under it, and not "
    "{input!r}.",
)
browser_origin = matching(
    r"file://|(?!https:.*:443\Z|http:.*:80\Z)[a-z][a-z0-9+.-]*://"
    r"([a-z0-9_-]+(\.[a-z0-9_-]+)*\.?|\[[0-9a-f:.]+\])(:[1-9][0-9]{0,4})?",
    "must list origins as browsers send them, such as https://shop.example.com: in lower case and "
    "ASCII, without a path, *, and the ports 443 and 80, and not {input!r}.",
)
# Where nobody on the way can replace the keys: HTTPS or loopback.
keys_url = matching(
    r"|(https://[A-Za-z0-9_.-]+|http://(localhost|127\.0\.0\.1|\[::1\]))(:[0-9]+)?([/?].*)?",
    "must be an https:// address.",
)
company_page = matching(
    r"|https?://[^\s{}]+\{key\}[^\s{}]*", "must be such as https://crm.example.com/{{key}}."
)
host_and_port = matching(r"|[\w.-]+:\d{1,5}", "must be such as 127.0.0.1:9100.")


def is_network(text: str) -> None:
    try:
        ip_network(text, strict=False)
    except ValueError as error:
        raise ValidationError(f"must list addresses and networks: {error}.") from None


def between(least: int, most: int) -> dict[str, Any]:
    error = f"must be a whole number from {least} to {most}, not {{input!r}}."
    range_ = validate.Range(least, most, error=error)
    return {"validate": range_, "error_messages": {"invalid": error}}


def is_random(secret: str) -> None:
    if secret and (len(secret) < 32 or len(set(secret)) < 5):
        raise ValidationError("must have 32 random characters or more.")


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
    if not path.exists():
        # Another process may make it first.
        with NamedTemporaryFile("w", dir=path.parent) as draft, suppress(FileExistsError):
            draft.write(secrets.token_urlsafe(64))
            draft.flush()
            os.link(draft.name, path)
    return path.read_text()
