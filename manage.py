"""The command line of the cart service. `manage.py help` lists the commands.

Nothing here is newer than Python 3.6, so that an old one can say that it is too old.
"""

import os
import sys
from errno import EDQUOT, EFBIG, EIO, ENOSPC, EPIPE


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "cartsvc.settings")
    if sys.version_info < (3, 11):  # noqa: UP036
        sys.exit(
            "The cart service needs Python 3.11 or newer, and this is Python {}.{}: make the "
            "virtual environment with a newer one.".format(*sys.version_info)
        )
    if sys.argv[1:] in (["version"], ["--version"]):  # Django would say its own
        from cartsvc import __version__  # noqa: PLC0415

        print(__version__)
        return
    if sys.argv[1:2] == ["test"]:
        sys.exit("The tests are pytest's: run pytest in this folder.")
    if sys.argv[1:2] == ["collectstatic"]:
        sys.exit("There is nothing to collect: the service serves the files of its packages.")
    try:
        run()
    except ModuleNotFoundError as error:
        package = (error.name or "carts").split(".")[0]
        if package in ("carts", "cartsvc"):
            raise
        sys.exit(
            f"The package {package} is missing: run pip install -r cartsvc/requirements.txt in a "
            "virtual environment, and manage.py with that environment's Python, such as "
            ".venv/bin/python manage.py serve."
        )
    except KeyboardInterrupt:
        sys.exit(130)  # as a shell tells that Ctrl-C has ended a command


def run() -> None:
    from django.core.exceptions import ImproperlyConfigured  # noqa: PLC0415
    from django.core.management import execute_from_command_line  # noqa: PLC0415
    from django.db import DatabaseError  # noqa: PLC0415

    from cartsvc.db.database_errors import is_outage, remedy  # noqa: PLC0415

    try:
        execute_from_command_line(sys.argv)
        sys.stdout.flush()
    except OSError as error:
        # Of a file that is written, which the error does not name: a full disk, a closed pipe.
        if error.filename or error.errno not in (EDQUOT, EFBIG, EIO, ENOSPC, EPIPE):
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # Python would try again when it ends
        sys.exit(f"The output could not be written: {error.strerror}.")
    except ImproperlyConfigured as error:
        sys.exit(f"The configuration cannot be used: {error}")
    except DatabaseError as error:
        from cartsvc.db.applied_migrations import is_migrated  # noqa: PLC0415

        told = remedy(error)
        if not told and is_outage(error) and not is_migrated():
            told = "Does it run, and has manage.py migrate run since the last upgrade?"
        if not told or "--traceback" in sys.argv:
            raise
        sys.exit(f"The database cannot be used: {str(error).strip()}\n{told}")


if __name__ == "__main__":
    main()
