#!/usr/bin/env python
"""The command line of the cart service. `manage.py help` lists the commands."""

import os
import sys

from django.core.exceptions import ImproperlyConfigured
from django.core.management import execute_from_command_line
from django.db import OperationalError, ProgrammingError

# The commands that serve requests. Any other, such as a migration, may take longer than one.
SERVING = {"serve", "runserver"}


def main() -> None:
    """Run the command, without the requests' timeouts unless it serves requests."""
    command = sys.argv[1:2]
    if not SERVING & set(command):
        if command != ["check"]:  # it judges the timeouts as they are set
            os.environ["DB_STATEMENT_TIMEOUT"] = os.environ["DB_IDLE_TIMEOUT"] = "0"
        if past_the_pooler := os.environ.get("DATABASE_ADMIN_URL"):
            # The pooler's connections keep the requests' timeouts.
            os.environ["DATABASE_URL"] = past_the_pooler
            os.environ.pop("DB_POOLER", None)
        # These commands answer no requests, so they have nothing to count.
        os.environ.pop("PROMETHEUS_MULTIPROC_DIR", None)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "cartsvc.settings")
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
