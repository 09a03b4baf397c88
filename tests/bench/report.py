"""Write the results as Markdown."""

import statistics
from pathlib import Path
from typing import Any

TITLES = {
    "service": "this service",
    "floor": "floor: bare WSGI, raw SQL",
    "tutorial": "tutorial DRF cart",
    "fastapi": "FastAPI, SQL on asyncpg",
    "service again": "this service, once more",
}

Results = dict[str, Any]


def table(header: list[str], rows: list[list[Any]]) -> str:
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def ratio(cells: Results, rival: str) -> float:
    """Return the median of the rounds' ratios. Noise in a round affects both sides of a ratio.

    Both runs of the service count, except where they are compared with each other.
    """
    runs = {"service", "service again"} - {rival}
    return statistics.median(
        mine / theirs
        for run in sorted(runs)
        for mine, theirs in zip(cells[run]["rates"], cells[rival]["rates"], strict=True)
    )


def rivals(results: Results, out: Path) -> str:
    scenarios = results["scenarios"]
    servers = list(next(iter(scenarios.values())))
    rates = table(
        ["requests a second", *(TITLES[server] for server in servers)],
        [
            [name, *(f"{cell['rate']:.0f} ({cell['lowest']:.0f}-{cell['highest']:.0f})"
                     for cell in cells.values())]
            for name, cells in scenarios.items()
        ],
    )  # fmt: skip
    ratios = table(
        ["this service is", *(f"of {TITLES[server]}" for server in servers[1:])],
        [
            [name, *(f"{ratio(cells, server):.2f}" for server in servers[1:])]
            for name, cells in scenarios.items()
        ],
    )  # fmt: skip
    costs = table(
        ["a request costs", "server", "p50 ms", "p99 ms", "server CPU ms", "PostgreSQL CPU ms"],
        [
            [name, TITLES[server], f"{cell['p50']:.2f}", f"{cell['p99']:.2f}",
             f"{cell['server']:.2f}", f"{cell['postgres']:.2f}"]
            for name, cells in scenarios.items()
            for server, cell in cells.items()
        ],
    )  # fmt: skip
    parts = [f"`{results['command']}`", rates, ratios]
    if {"create empty", "create 50x5"} <= scenarios.keys():
        parts.append(one_more_item(scenarios))
    return written(out / "rivals.md", [*parts, costs])


def one_more_item(scenarios: Results) -> str:
    return table(
        ["one more item with 5 options", "server CPU µs", "PostgreSQL CPU µs"],
        [
            [
                TITLES[server],
                *(
                    f"{20 * (many[part] - scenarios['create empty'][server][part]):.0f}"
                    for part in ("server", "postgres")
                ),
            ]
            for server, many in scenarios["create 50x5"].items()
        ],
    )


def growth(results: Results, out: Path) -> str:
    sizes = results["sizes"]
    names = list(next(iter(sizes.values()))["scenarios"])
    by_size = table(
        ["carts", "database", *(f"{name}: p50 ms" for name in names), "WAL of a create"],
        [
            [f"{int(size):,}", f"{found['disk'] / 1e9:.2f} GB",
             *(f"{found['scenarios'][name]['p50']:.2f}" for name in names),
             f"{found['wal'] / 1000:.1f} kB"]
            for size, found in sizes.items()
        ],
    )  # fmt: skip
    callers = list(next(iter(sizes.values()))["callers"])
    by_callers = table(
        ["create 3x2 a second, by callers", *map(str, callers)],
        [
            [f"{int(size):,} carts",
             *(f"{found['callers'][count]['rate']:.0f}" for count in callers)]
            for size, found in sizes.items()
        ],
    )  # fmt: skip
    waits = table(
        ["p99 ms, by callers", *map(str, callers)],
        [
            [f"{int(size):,} carts",
             *(f"{found['callers'][count]['p99']:.1f}" for count in callers)]
            for size, found in sizes.items()
        ],
    )  # fmt: skip
    return written(out / "growth.md", [f"`{results['command']}`", by_size, by_callers, waits])


def written(path: Path, parts: list[str]) -> str:
    text = "\n\n".join(parts) + "\n"
    path.write_text(text)
    return text
