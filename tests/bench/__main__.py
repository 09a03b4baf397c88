"""Measure the service, a floor and two rivals: python -m tests.bench --help"""

import argparse

from tests.bench import measure
from tests.bench.scenarios import NAMES

parser = argparse.ArgumentParser(prog="python -m tests.bench")
parser.add_argument("--rounds", type=int, default=5)
parser.add_argument("--seconds", type=float, default=3, help="of a server's turn in a round")
parser.add_argument("--concurrency", type=int, default=8, help="connections of the client")
parser.add_argument("--only", action="append", choices=NAMES, help="scenario; may be repeated")
parser.add_argument("--quick", action="store_true", help="one short round: does it run?")
parser.add_argument(
    "--growth",
    type=lambda sizes: [int(size) for size in sizes.split(",")],
    metavar="CARTS,CARTS",
    help="measure the service alone, with so many carts in the database",
)
parser.add_argument(
    "--open-loop",
    action="store_true",
    help="measure what callers wait who do not wait for each other, at half of saturation",
)
parser.add_argument(
    "--citus", action="store_true", help="measure what each server of a Citus cluster spends"
)
options = parser.parse_args()
if options.quick:
    options.rounds, options.seconds = 1, 0.5
if options.open_loop:
    print(measure.open_loop(options))
elif options.citus:
    print(measure.citus(options))
elif options.growth:
    print(measure.growth(options))
else:
    print(measure.rivals(options))
