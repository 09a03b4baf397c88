#!/usr/bin/env python
"""The command line of the cart service. `manage.py help` lists the commands."""

import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "cartsvc.settings")
    if sys.version_info < (3, 11):  # noqa: UP036
        sys.exit("The cart service needs Python 3.11 or newer.")
    try:
        from django.core.exceptions import ImproperlyConfigured  # noqa: PLC0415
        from django.core.management import execute_from_command_line  # noqa: PLC0415
        from django.db import OperationalError, ProgrammingError  # noqa: PLC0415
    except ImportError as error:
        sys.exit(f"{error}. Is the virtual environment active, with requirements.txt installed?")
    try:
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as error:
        sys.exit(f"The configuration cannot be used: {error}")
    except (OperationalError, ProgrammingError) as error:  # it does not answer, or has no tables
        if "--traceback" in sys.argv:
            raise
        sys.exit(
            f"The database cannot be used: {str(error).strip()}\n"
            "Does it run, and has manage.py migrate run since the last upgrade?"
        )


if __name__ == "__main__":
    main()
