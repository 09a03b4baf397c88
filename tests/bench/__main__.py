"""Measure the service, a floor and two rivals: python -m tests.bench --help"""

import argparse
import json
import sys
from pathlib import Path

from tests.bench import measure, report
from tests.bench.scenarios import NAMES
from tests.bench.servers import ROOT


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3, help="of a server's turn in a round")
    parser.add_argument("--concurrency", type=int, default=8, help="connections of the client")
    parser.add_argument("--only", action="append", choices=NAMES, help="scenario")
    parser.add_argument("--quick", action="store_true", help="one short round: does it run?")
    parser.add_argument(
        "--growth",
        type=lambda sizes: [int(size) for size in sizes.split(",")],
        metavar="CARTS,CARTS",
        help="measure the service alone, with so many carts in the database",
    )
    parser.add_argument("--out", type=Path, default=ROOT / "var" / "bench")
    options = parser.parse_args()
    if options.quick:
        options.rounds, options.seconds = 1, 0.5
    options.out.mkdir(parents=True, exist_ok=True)
    if options.growth:
        results, write = measure.growth(options), report.growth
    else:
        results, write = measure.rivals(options), report.rivals
    results["command"] = f"python -m tests.bench {' '.join(sys.argv[1:])}".strip()
    name = write.__name__
    (options.out / f"{name}.json").write_text(json.dumps(results, indent=1, ensure_ascii=False))
    print(write(results, options.out))


main()
