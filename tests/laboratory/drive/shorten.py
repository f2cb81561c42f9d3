"""Shortens a recorded session to what covers something: the sessions of the tests are made so.

Of each sequence the beginning is kept, up to the last step in which a rule has an outcome for the first time,
and up to a step in which the reference differs.

    python -m tests.laboratory.drive.shorten SESSION SHORTER
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
from collections.abc import Iterator
from pathlib import Path

from kraftcheck.checking.coverage.outcomes import features
from kraftcheck.evidence.adapters.recorded import RecordedSession
from kraftcheck.evidence.adapters.session import Driven
from kraftcheck.support.errors import InputError
from kraftcheck.support.files import write_atomically
from kraftcheck.support.gzip_lines import gzip_lines

#: Lines before the first sequence: the header, the greeting and its answer.
_BEFORE = 3


def kept(session: Path) -> dict[str, int]:
    """For each sequence that covers something new, the number of its questions to keep. Raises InputError."""
    known: set[str] = set()
    return {
        driven.sequence.name: count
        for driven in RecordedSession(session).compared()
        if (count := _kept_of(driven, known))
    }


def _kept_of(driven: Driven, known: set[str]) -> int:
    count = 0
    for question in driven.questions:
        outcome = question.outcome
        found = set() if outcome is None else set(features(question.before or question.identity, outcome))
        if not found <= known:
            known |= found
            count = question.position + 1
    return count if driven.failed is None else driven.failed.question.position + 1


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
