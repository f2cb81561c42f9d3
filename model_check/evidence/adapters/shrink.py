"""The shortest part of a sequence that still shows a difference, within the limits of a bounded search."""

from __future__ import annotations

from dataclasses import replace

from kraftcheck.evidence.adapters.answers import AdapterError
from kraftcheck.evidence.adapters.session import Driven, Session
from kraftcheck.evidence.adapters.stimuli import DriveSequence

#: The largest number of times that the adapter is driven again.
MAX_RUNS = 80


def shrink(session: Session, driven: Driven, max_runs: int = MAX_RUNS) -> Driven:
    """``driven``, or a shorter sequence whose last step differs in the same field.

    Stimuli are left out greedily, large parts first. An adapter that fails meanwhile ends the search.
    """
    assert driven.failed is not None
    field = driven.failed.differences[0].field
    best = cut(driven)
    size = _length(best) // 2
    runs = 0
    while size >= 1:
        begin = 1
        while begin + size <= _length(best) - 1 and runs < max_runs:
            runs += 1
            shorter = _try(session, _without(best, begin, size), field)
            if shorter is None:
                begin += size
            else:
                best = shorter
        size = size // 2
    return best


def cut(driven: Driven) -> Driven:
    """``driven`` without the steps after the difference."""
    return replace(driven, sequence=_without(driven, 1, 0))


def _length(driven: Driven) -> int:
    assert driven.failed is not None
    return driven.failed.question.position + 1


def _without(driven: Driven, begin: int, size: int) -> DriveSequence:
    stimuli = driven.sequence.stimuli[: _length(driven)]
    return replace(driven.sequence, stimuli=stimuli[:begin] + stimuli[begin + size :], origin=None)


def _try(session: Session, sequence: DriveSequence, field: str) -> Driven | None:
    try:
        found = session.drive(sequence)
    except AdapterError:
        return None
    same = found.failed is not None and found.failed.differences[0].field == field
    return found if same else None
