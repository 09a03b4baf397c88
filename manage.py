#!/usr/bin/env python
"""The command line of the cart service: `manage.py help` lists what it can do."""

import os
import sys

from django.core.exceptions import ImproperlyConfigured
from django.core.management import execute_from_command_line

# These serve requests; any other command, such as a migration, may take its time.
SERVING = {"serve", "runserver"}


def main() -> None:
    if not SERVING & set(sys.argv[1:2]):
        os.environ["DB_STATEMENT_TIMEOUT"] = os.environ["DB_IDLE_TIMEOUT"] = "0"
        # They answer no requests, and so count none.
        os.environ.pop("PROMETHEUS_MULTIPROC_DIR", None)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "cartsvc.settings")
    try:
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as error:
        sys.exit(f"The configuration cannot be used: {error}")


if __name__ == "__main__":
    main()
