"""``kraftcheck record`` with short runs of the reference, which answers in this process.

A cluster whose kraft.version is 0 differs from the reference: such a replica never shows its vote.
``python -m tests.evidence.recorder.short_campaign ARGUMENT...`` takes the arguments of the command.
"""

from __future__ import annotations

import sys
from typing import Any
from unittest.mock import patch

from kraftcheck.cli.main import main
from kraftcheck.evidence.adapters.serving import ReferenceAdapter
from kraftcheck.evidence.recordings.fields import Fields
from tests.evidence.adapters.in_process import InProcess

#: Simulated seconds of a run: there is a leader, and records, but no time for faults.
SECONDS = 9


class Differing(ReferenceAdapter):
    """The reference, which keeps the vote of a replica of version 0 to itself."""

    is_old = False

    def answer(self, question: Fields) -> dict[str, Any]:
        """The answer to a question, without its id."""
        if question.text("type") == "start":
            self.is_old = question.values["identity"]["kraftVersion"] == 0
        answer = super().answer(question)
        if self.is_old:
            answer.get("state", {}).pop("voted", None)
        return answer


def record(*words: str) -> int:
    """Run the command; its exit status."""
    adapters = "kraftcheck.evidence.adapters.started.AdapterProcess"
    with (
        patch(adapters, lambda *_: InProcess(Differing())),
        patch("kraftcheck.evidence.recorder.option.LEAST_SECONDS", SECONDS),
    ):
        reference = ("--adapter", "reference", "--jobs", "1", "--seconds", str(SECONDS))
        return main(["record", *reference, *words])


if __name__ == "__main__":
    sys.exit(record(*sys.argv[1:]))
