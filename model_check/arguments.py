"""Values of arguments that several commands take; each raises ArgumentTypeError for anything else."""

from __future__ import annotations

import argparse
import re

MAX_THREADS = 256


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


def thread_count(text: str) -> int:
    """A number of threads or processes."""
    wanted = positive(text)
    if wanted > MAX_THREADS:
        raise argparse.ArgumentTypeError(f"expected at most {MAX_THREADS}, not {wanted}")
    return wanted
