"""Values of arguments that several commands take. What reads one raises ArgumentTypeError for others."""

from __future__ import annotations

import argparse
import os
import re
from pathlib import Path

#: Parsers, and groups of options that exclude each other.
Adding = argparse.ArgumentParser | argparse._MutuallyExclusiveGroup
#: For the help of commands that explore.
KEEPS_ANSWERS = "What the reference answers is kept for later runs, in the user's cache."
MAX_THREADS = 256
MAX_SECONDS = 3600.0
_UNITS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30}


def whole_number(text: str) -> int:
    """A number from 0 on, of at most 18 digits."""
    if not re.fullmatch(r"\d{1,18}", text, re.ASCII):
        raise argparse.ArgumentTypeError(
            f"expected a number from 0 on, of at most 18 digits, not '{text[:40]}'"
        )
    return int(text)


def positive(text: str) -> int:
    """A number greater than 0 of at most 12 digits."""
    if not re.fullmatch(r"\d{1,12}", text, re.ASCII) or int(text) == 0:
        raise argparse.ArgumentTypeError(f"expected a whole number greater than 0, not '{text[:40]}'")
    return int(text)


def seconds(text: str) -> float:
    """Seconds, at most an hour."""
    if not re.fullmatch(r"\d{1,4}(\.\d{1,3})?", text, re.ASCII) or not 0 < float(text) <= MAX_SECONDS:
        raise argparse.ArgumentTypeError(f"expected seconds, more than 0 and up to 3600, not '{text[:40]}'")
    return float(text)


def thread_count(text: str) -> int:
    """A number of threads or processes."""
    wanted = positive(text)
    if wanted > MAX_THREADS:
        raise argparse.ArgumentTypeError(f"expected at most {MAX_THREADS}, not {wanted}")
    return wanted


def flag(parser: Adding, *names: str, says: str) -> None:
    """An option without a value, and its help."""
    parser.add_argument(*names, action="store_true", help=says)


def add_json(parser: argparse.ArgumentParser) -> None:
    """The option for output that programs read."""
    flag(parser, "--json", says="print machine-readable output")


def add_output(parser: argparse.ArgumentParser, what: str = "") -> None:
    """The option for the file that :func:`kraftcheck.support.files.write_output` writes."""
    says = f"{what}default: standard output"
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help=says)


def add_jobs(parser: argparse.ArgumentParser) -> None:
    """The options of commands that explore mutants: processes, and seconds for each exploration."""
    jobs = "processes (default: cores)"
    parser.add_argument("--jobs", type=thread_count, default=cores(), metavar="N", help=jobs)
    seconds = "for one exploration (default: 120)"
    parser.add_argument("--timeout", type=positive, default=120, metavar="S", help=seconds)


def cores() -> int:
    """The number of processes that can run at a time."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def byte_count(text: str) -> int:
    """A number of bytes, with k, m or g for powers of 1,024."""
    match = re.fullmatch(r"(\d{1,15})([kmg]?)b?", text.lower(), re.ASCII)
    if match is None or int(match[1]) == 0:
        raise argparse.ArgumentTypeError(f"expected a size such as 800M or 8G, not '{text[:40]}'")
    return int(match[1]) * _UNITS[match[2]]


def any_seconds(text: str) -> float:
    """Seconds, any number of them, which may have a fraction."""
    if not re.fullmatch(r"\d{1,9}(\.\d+)?", text):
        raise argparse.ArgumentTypeError(f"expected a number of seconds, not '{text}'")
    return float(text)


def duration(text: str) -> float:
    """Seconds of a time such as 90s, 30m or 1h; a number alone is seconds."""
    match = re.fullmatch(r"(\d{1,7})([smh]?)", text, re.ASCII)
    if match is None or int(match[1]) == 0:
        raise argparse.ArgumentTypeError(f"expected a time such as 90s, 30m or 1h, not '{text[:40]}'")
    return float(match[1]) * {"": 1, "s": 1, "m": 60, "h": 3600}[match[2]]
