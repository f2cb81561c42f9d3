"""Shortens a recorded session to what covers something: the sessions of the tests are made so.

Of sequences the beginning is kept, of so many that they cover each pair that the session covers
(:mod:`kraftcheck.evidence.adapters.pairs`), and of one in which the reference differs, up to that step.

    python -m tests.laboratory.drive.shorten SESSION SHORTER
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import heapify, heappop, heappush
from pathlib import Path
from typing import NamedTuple

from kraftcheck.evidence.adapters.pairs import of_question
from kraftcheck.evidence.adapters.recorded import RecordedSession
from kraftcheck.support.errors import InputError
from kraftcheck.support.files import write_atomically
from kraftcheck.support.gzip_lines import gzip_lines

#: Lines before the first sequence: the header, the greeting and its answer.
_BEFORE = 3


def kept(session: Path) -> dict[str, int]:
    """For each sequence to keep, the number of its questions. Raises InputError."""
    offered: dict[str, list[Covered]] = {}
    counts: dict[str, int] = {}
    for driven in RecordedSession(session).compared():
        if driven.failed is not None:
            counts[driven.sequence.name] = driven.failed.question.position + 1
        steps = [Covered(each.position + 1, of_question(each)) for each in driven.questions]
        offered[driven.sequence.name] = steps
    return covering(offered, counts)


class Covered(NamedTuple):
    """A step: the number of questions up to it, itself included, and the pairs that it covers."""

    count: int
    pairs: frozenset[str]


def covering(offered: Mapping[str, Sequence[Covered]], least: Mapping[str, int]) -> dict[str, int]:
    """How many questions of each sequence to keep, so that they cover what all cover; at least those of
    ``least``. It is few, not the fewest: the next to be kept are those that cover most for each question.
    """
    counts = dict(least)
    known = {pair for name, count in least.items() for pair in _of(offered[name], count)}
    waiting = [(-_best(steps, counts.get(name, 0), known)[0], name) for name, steps in offered.items()]
    heapify(waiting)
    while waiting:
        _, name = heappop(waiting)
        gain, count = _best(offered[name], counts.get(name, 0), known)
        if not gain:
            continue
        if waiting and gain < -waiting[0][0]:
            # It covered more before others were kept.
            heappush(waiting, (-gain, name))
            continue
        counts[name] = count
        known.update(_of(offered[name], count))
        heappush(waiting, (-_best(offered[name], count, known)[0], name))
    return counts


def _of(steps: Iterable[Covered], count: int) -> set[str]:
    return {pair for each in steps if each.count <= count for pair in each.pairs}


def _best(steps: Iterable[Covered], kept: int, known: set[str]) -> tuple[float, int]:
    """The number of questions of a sequence of which ``kept`` are kept that would cover most for each further
    one, and how much; 0: nothing.
    """
    found: set[str] = set()
    best = (0.0, kept)
    for each in steps:
        if each.count > kept and not each.pairs <= known:
            found |= each.pairs - known
            best = max(best, (len(found) / (each.count - kept), each.count))
    return best


def shortened(session: Path) -> Iterator[str]:
    """The lines of the shorter session. Raises InputError."""
    counts, left = kept(session), _BEFORE
    for text, _ in gzip_lines(session, "a recorded session"):
        named = json.loads(text).get("sequence") if text.startswith('{"sequence"') else None
        if named is not None:
            left = 1 + 2 * counts[named] if named in counts else 0
        if left:
            left -= 1
            yield text if text.endswith("\n") else f"{text}\n"
    yield json.dumps({"end": len(counts)}) + "\n"


def main() -> int:
    """Write the shorter session."""
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m tests.laboratory.drive.shorten")
    parser.add_argument("session", type=Path, help="a session that 'kraftcheck drive --record' has written")
    parser.add_argument("shorter", type=Path, help="the file to write")
    arguments = parser.parse_args()
    try:
        text = "".join(shortened(arguments.session))
        write_atomically(arguments.shorter, gzip.compress(text.encode(), mtime=0))
    except InputError as error:
        print(f"shorten: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
