"""The command line of the cart service. `manage.py help` lists the commands."""

import os
import sys
from errno import EDQUOT, EFBIG, EIO, ENOSPC, EPIPE


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "cartsvc.settings")
    try:
        from django.core.exceptions import ImproperlyConfigured  # noqa: PLC0415
        from django.core.management import execute_from_command_line  # noqa: PLC0415
        from django.db import DatabaseError  # noqa: PLC0415
    except ImportError:
        sys.exit(
            "Django is missing: run pip install -r cartsvc/requirements.txt in a virtual "
            "environment, and manage.py with that environment's Python, such as "
            ".venv/bin/python manage.py serve."
        )
    if sys.argv[1:] in (["version"], ["--version"]):  # Django would print its own
        from cartsvc import __version__  # noqa: PLC0415

        print(__version__)
        return
    if sys.argv[1:2] == ["test"]:  # Django's finds no test, and says OK
        sys.exit(
            "The tests run with pytest, such as .venv/bin/pytest tests/api: see tests/README.md."
        )
    try:
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as error:
        sys.exit(f"The configuration cannot be used: {error}")
    except DatabaseError as error:
        from cartsvc.db.database_errors import is_outage, names_what_is_missing  # noqa: PLC0415

        if not is_outage(error):
            raise
        if names_what_is_missing(error):
            sys.exit(f"The database is not migrated ({error}): run manage.py migrate.")
        sys.exit(f"The database cannot be used: {error}")


if __name__ == "__main__":
    try:
        try:
            main()
        finally:
            print(end="", flush=True)
    except OSError as error:
        # A file that is written is not named by the error, one that cannot be opened is.
        if error.filename or error.errno not in (EDQUOT, EFBIG, EIO, ENOSPC, EPIPE):
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # Python would try again as it ends
        sys.exit(f"The output cannot be written: {error.strerror}.")
