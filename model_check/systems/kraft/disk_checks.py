"""Checks of the disk on which a process starts: whether its software may."""

from __future__ import annotations

from kraftcheck.reference.disk import Disk
from kraftcheck.reference.effects import Fatal
from kraftcheck.reference.fatal import FatalReason
from kraftcheck.reference.voters import NO_DIRECTORY
from kraftcheck.systems.kraft.node import Execution

#: A start that ends for one of these is what the rules ask for.
_REASONS = (FatalReason.UNKNOWN_FILE_VERSION, FatalReason.NO_DIRECTORY_ID)


def is_refused(execution: Execution) -> bool:
    """Whether the process ends because of the disk on which it starts."""
    return isinstance(execution.ended, Fatal) and execution.ended.reason in _REASONS


def violations(execution: Execution, left: Disk) -> tuple[str, ...]:
    """P-18, of a start after which the disk is as ``left``; no effect changes its id or marks it as newer."""
    forbidden = left.newer or left.directory == NO_DIRECTORY
    does_more = forbidden and len(execution.effects) > 1
    return ("StartsOnKnownDisk",) if is_refused(execution) != forbidden or does_more else ()
