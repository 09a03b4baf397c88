"""The CPU time of a tree of processes, read from /proc."""

import os
from contextlib import suppress
from pathlib import Path

NANOSECONDS_OF_A_TICK = 10**9 // os.sysconf("SC_CLK_TCK")


def tree(pid: int) -> list[int]:
    """Return the ids of the process and of its descendants."""
    children: dict[int, list[int]] = {}
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended
            parent = int((process / "stat").read_text().rpartition(")")[2].split()[1])
            children.setdefault(parent, []).append(int(process.name))
    found = [pid]
    for process in found:
        found += children.get(process, ())
    return found


def cpu_seconds(pid: int) -> float:
    """Return the CPU time of the tree, including processes that have ended."""
    total = 0
    for process in tree(pid):
        with suppress(OSError):  # it has ended
            status = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
            total += sum(map(int, status[13:15])) * NANOSECONDS_OF_A_TICK
            for task in Path(f"/proc/{process}/task").glob("*/schedstat"):
                total += int(task.read_text().split()[0])
    return total / 1e9
