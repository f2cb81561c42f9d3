"""Values of arguments that several commands take."""

from __future__ import annotations

import argparse
import re


def positive(text: str) -> int:
    """A number greater than 0 of at most 12 digits. Raises ArgumentTypeError for anything else."""
    if not re.fullmatch(r"\d{1,12}", text, re.ASCII) or int(text) == 0:
        raise argparse.ArgumentTypeError(f"expected a number greater than 0, not '{text[:40]}'")
    return int(text)
