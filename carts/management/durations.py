"""Durations on the command line: 90s, 15m, 12h, 30d, 4w."""

import argparse
import re
from datetime import timedelta

UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def duration(text: str) -> timedelta:
    found = re.fullmatch(r"([1-9][0-9]{0,4})([smhdw])", text, re.ASCII)
    if not found:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a duration such as 90s, 15m, 12h, 30d or 4w"
        )
    return timedelta(**{UNITS[found[2]]: int(found[1])})
