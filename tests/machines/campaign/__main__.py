"""Faults under load, one after another and two at once, and a verdict on what the callers saw.

    python -m tests.machines.campaign --faults 100 --operations 1000000 --folder /tmp/histories

Etcd, three nodes of Patroni with one synchronous standby, HAProxy, a network that can be cut,
PgBouncer, two instances and eight callers.
"""

import argparse
import logging
import os
import sys
import time
import traceback
from pathlib import Path
from subprocess import SubprocessError

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "cartsvc.settings")
django.setup()

from tests.machines.campaign.recorded_callers import RecordedCallers  # noqa: E402
from tests.machines.campaign.rounds import Campaign, started  # noqa: E402

CALLERS = 8


def main() -> int:
    options = argparse.ArgumentParser()
    options.add_argument("--faults", type=int, default=100)
    options.add_argument("--operations", type=int, default=0)
    options.add_argument("--folder", type=Path, required=True, help="where the histories are left")
    asked = options.parse_args()
    logging.disable(logging.WARNING)
    with started() as system:
        recorded = RecordedCallers(system.url, asked.folder, timeout=10, follow=True)
        campaign = Campaign(system, recorded)
        began, failed = time.monotonic(), False
        try:
            recorded.run(CALLERS, campaign.rounds(asked.faults, asked.operations))
        except (AssertionError, OSError, SubprocessError):  # what was seen is judged nevertheless
            traceback.print_exc()
            failed = True
        seconds = time.monotonic() - began
        with system.nodes.wait_until_whole().connect("carts") as fresh:
            found = recorded.audit(fresh)
    print(f"{campaign.done} faults in {seconds:.0f} s; {recorded}; histories in {recorded.folder}")
    print("\n".join(found) or "no contradiction")
    return failed or bool(found)


if __name__ == "__main__":
    sys.exit(main())
