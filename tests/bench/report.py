"""Write the results as Markdown, and those of the rivals as a chart, too."""

import statistics
from html import escape
from pathlib import Path
from typing import Any

NAMES = ("service", "floor", "tutorial", "fastapi", "asyncpg")
COLOURS = dict(zip(NAMES, ("#0b6e4f", "#9aa5b1", "#d9822b", "#3b6fb6", "#7b4fa3"), strict=True))
TITLES = {
    "service": "this service",
    "floor": "floor: bare WSGI, raw SQL",
    "tutorial": "tutorial DRF cart",
    "fastapi": "FastAPI + SQLAlchemy",
    "asyncpg": "FastAPI, SQL on asyncpg",
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
    servers = list(results["memory"])
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
        ["a request costs", "server", "p50 ms", "p99 ms", "server CPU ms", "PostgreSQL CPU ms",
         "statements"],
        [
            [name, TITLES[server], f"{cell['p50']:.2f}", f"{cell['p99']:.2f}",
             f"{cell['server']:.2f}", f"{cell['postgres']:.2f}", f"{cell['statements']:g}"]
            for name, cells in scenarios.items()
            for server, cell in cells.items()
        ],
    )  # fmt: skip
    memory = table(
        ["peak memory (PSS, master and two workers)", "MB"],
        [[TITLES[server], f"{used:.0f}"] for server, used in results["memory"].items()],
    )
    (out / "chart.svg").write_text(chart(scenarios))
    parts = [f"`{results['command']}`", rates, ratios]
    if {"create empty", "create 50x5"} <= scenarios.keys():
        parts.append(one_more_item(scenarios))
    return written(out / "rivals.md", [*parts, costs, memory])


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


def chart(scenarios: Results) -> str:
    """Return bars of requests a second, relative to the floor in each scenario."""
    left, width, bar, gap = 150, 460, 13, 16
    parts, y = [], 46
    for index, server in enumerate(NAMES):
        x = 10 + index * 180
        parts.append(f'<rect x="{x}" y="10" width="12" height="12" fill="{COLOURS[server]}"/>')
        parts.append(f'<text x="{x + 17}" y="20">{escape(TITLES[server])}</text>')
    longest = max(
        cells[server]["rate"] / cells["floor"]["rate"]
        for cells in scenarios.values()
        for server in NAMES
    )
    for name, cells in scenarios.items():
        middle = y + len(NAMES) * bar / 2 + 4
        parts.append(f'<text x="{left - 8}" y="{middle}" text-anchor="end">{escape(name)}</text>')
        for server in NAMES:
            rate = cells[server]["rate"]
            share = rate / cells["floor"]["rate"]
            length = width * share / longest
            parts.append(
                f'<rect x="{left}" y="{y}" width="{length:.1f}" height="{bar - 2}"'
                f' fill="{COLOURS[server]}"/>'
                f'<text x="{left + length + 5:.1f}" y="{y + bar - 3}" font-size="10">'
                f"{rate:,.0f}/s · {share:.2f}</text>"
            )
            y += bar
        y += gap
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="910" height="{y}" font-size="12"'
        f' font-family="sans-serif" fill="#222"><rect width="100%" height="100%" fill="#fff"/>'
        f"{''.join(parts)}</svg>\n"
    )
