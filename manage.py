#!/usr/bin/env python
"""The command line of the cart service. `manage.py help` lists the commands."""

import os
import sys

from django.core.exceptions import ImproperlyConfigured
from django.core.management import execute_from_command_line

# The commands that serve requests. Any other, such as a migration, may take longer than one.
SERVING = {"serve", "runserver"}


def main() -> None:
    """Run the command, without the requests' timeouts unless it serves requests."""
    if not SERVING & set(sys.argv[1:2]):
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


if __name__ == "__main__":
    main()
