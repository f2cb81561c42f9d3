"""What controllers can do that start on disks that Kafka's classes wrote, of three voters and fewer."""

from __future__ import annotations

from pathlib import Path

import pytest

from kraftcheck.engine.system import Limits
from kraftcheck.evidence.disks.disk import find_disks, read_disk
from kraftcheck.evidence.disks.quorum import Quorum
from kraftcheck.evidence.restart.questions import answer, beginning_of, questions
from tests.recorded.recorded_runs import runs_folder

DISKS = runs_folder().parent / "kafka-disks"
SITUATIONS = sorted(each.parent for each in DISKS.glob("*/truth.json"))
#: The questions without a leader; of the disk of 06 that was replaced, two of three are left.
NO_LEADER = {"06": {"without-1", "without-2"}, "20": {"without-1"}}
#: Static voters vote again on an empty disk, also for a voter that has missed the upgrade; the disk of a
#: single voter is the only copy.
LOSES = {"12": {"lost-1", "lost-2"}, "19": {"lost-1", "lost-2"}, "20": {"lost-1"}}
#: Of four voters, or with a new one; they take minutes.
LARGE = {"04", "05", "09"}

pytestmark = pytest.mark.skipif(not SITUATIONS, reason=f"there are no disks in {DISKS}")


@pytest.mark.slow
@pytest.mark.parametrize("situation", SITUATIONS, ids=lambda each: each.name)
def test_what_starts_on_the_disks(situation: Path) -> None:
    beginning = beginning_of(Quorum(tuple(map(read_disk, find_disks([situation])))), "kafka")
    number, limits = situation.name[:2], Limits(max_states=400_000)
    stuck, loses = set(), set()
    for question in questions(beginning):
        if number in LARGE and question.kind != "without":
            continue
        found = answer(question, beginning, limits, 1, lambda text: None)
        name = question.scenario.name
        stuck |= {name} if question.kind != "lost" and not (found.elects and found.commits) else set()
        loses |= {name} if found.loses else set()
        assert question.kind == "lost" or not found.violated, name
    assert (stuck, loses) == (NO_LEADER.get(number, set()), LOSES.get(number, set()))
