"""What the service makes for itself when nothing is configured: a folder, and secrets in it."""

import os
import secrets
from contextlib import suppress
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

REMEDY = "Set DATABASE_URL, SECRET_KEY and JWT_SIGNING_KEY, or make the folder writable."


def make(folder: Path) -> Path:
    """Return the folder. It is made on first use, with mode 0700.

    Raises:
        ImproperlyConfigured: it cannot be made.
    """
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise ImproperlyConfigured(
            f"{folder} cannot be made ({error.strerror}). {REMEDY}"
        ) from error
    return folder


def secret(path: Path) -> str:
    """Return the secret in a file. It is created on first use, with mode 0600.

    Raises:
        ImproperlyConfigured: the file cannot be written or read.
    """
    draft = make(path.parent) / f".{path.name}.{secrets.token_hex(4)}"
    try:
        if not path.exists():
            with os.fdopen(
                os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w"
            ) as file:
                file.write(secrets.token_urlsafe(64))
            with suppress(FileExistsError):  # another process has made it first
                os.link(draft, path)
            draft.unlink()
        return path.read_text()
    except OSError as error:
        raise ImproperlyConfigured(f"{path} cannot be made ({error.strerror}). {REMEDY}") from error
