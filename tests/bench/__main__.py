"""Measure the service and a floor: python -m tests.bench --help"""

import argparse
import sys

from tests.bench import measure, servers
from tests.bench.scenarios import NAMES

parser = argparse.ArgumentParser(prog="python -m tests.bench")
parser.add_argument("--rounds", type=int, default=10)
parser.add_argument("--seconds", type=float, default=1, help="of a server's turn in a round")
parser.add_argument("--concurrency", type=int, default=8, help="connections of the client")
parser.add_argument("--only", action="append", choices=NAMES, help="scenario; may be repeated")
parser.add_argument("--quick", action="store_true", help="one short round: does it run?")
runs = {
    "--capacity": measure.capacity,
    "--open-loop": measure.open_loop,
    "--citus": measure.spread,
}
for name, run in runs.items():
    parser.add_argument(name, dest="run", action="store_const", const=run, help=run.__doc__)
parser.set_defaults(run=measure.against_floor)
parser.add_argument("--growth", type=int, nargs="+", metavar="CARTS", help=measure.growth.__doc__)
parser.add_argument("--desk", type=int, metavar="CARTS", help=servers.time_desk.__doc__)
options = parser.parse_args()
if options.desk:
    sys.exit(servers.time_desk(options.desk))
if options.quick:
    options.rounds, options.seconds = 1, 0.5
print((measure.growth if options.growth else options.run)(options))
