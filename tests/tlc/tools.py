"""TLC for tests that run it; without Java or TLC they are skipped, and say so."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial

import pytest

from kraftcheck.support.errors import InputError
from kraftcheck.tlc.compare import Comparison, Question, Report, Wanted, compare_all
from kraftcheck.tlc.install import Tools, find_tools
from kraftcheck.tlc.modules import Modules


def tools() -> Tools:
    """Java and TLC. Skips the test, with a warning in the summary, where one of them is missing."""
    try:
        return find_tools()
    except InputError as error:
        warnings.warn(f"NOT RUN: the comparison with TLC. {error}", stacklevel=2)
        pytest.skip(str(error))


def compared(asking: Callable[[Wanted, Report], Question], wanted: Wanted) -> Comparison:
    """The comparison of one scenario or mutant."""
    (found,) = compare_all([partial(asking, wanted)], Modules(), tools, wanted)
    return found
