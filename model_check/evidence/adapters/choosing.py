"""Sequences chosen for the pairs that they cover (:mod:`kraftcheck.evidence.adapters.pairs`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kraftcheck.evidence.adapters.asked import Asking
from kraftcheck.evidence.adapters.pairs import of_question
from kraftcheck.evidence.adapters.stimuli import DriveSequence
from kraftcheck.reference.frozen import replace


def covering(offered: Iterable[DriveSequence], covered: Iterable[str] = ()) -> Iterator[DriveSequence]:
    """Of each sequence in order the beginning up to the last step that covers a pair for the first time;
    nothing of one that covers no new pair. ``covered``: pairs that need not be covered again.
    """
    known = set(covered)
    for sequence in offered:
        last = -1
        for question in Asking(sequence).questions():
            found = of_question(question)
            if not found <= known:
                known |= found
                last = question.position
        if last >= 0:
            yield replace(sequence, stimuli=sequence.stimuli[: last + 1])
