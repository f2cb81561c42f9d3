"""What the laboratory makes of recorded sessions: shorter ones, and figures for each way of making them."""

import gzip
from pathlib import Path

import pytest

from kraftcheck.cli.main import main
from kraftcheck.evidence.adapters.recorded import RecordedSession
from kraftcheck.evidence.adapters.serving import ReferenceAdapter
from kraftcheck.evidence.adapters.stimuli import Start
from kraftcheck.reference.events import Poll, Timer
from kraftcheck.systems.kraft.scenario import shipped
from tests.evidence.adapters.in_process import InProcess, install, write_sequence
from tests.laboratory.drive import states, ways
from tests.laboratory.drive.shorten import Covered, covering, shortened


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Of two sequences of the reference; the last poll of the first repeats the one before it."""
    election = Poll((Timer.ELECTION,))
    write_sequence(tmp_path / "one.json", "one", Start(), election, Poll(), Poll(), Poll())
    write_sequence(tmp_path / "two.json", "random 2 of 2 steps, seed 0", Start(), election)
    install(monkeypatch, InProcess(ReferenceAdapter()))
    written = tmp_path / "session.jsonl.gz"
    traces = [word for name in ("one", "two") for word in ("--traces", str(tmp_path / f"{name}.json"))]
    assert main(["drive", "--adapter", "x", *traces, "--record", str(written)]) == 0
    return written


def test_only_what_covers_something_new_is_kept(session: Path, tmp_path: Path) -> None:
    shorter = tmp_path / "shorter.jsonl.gz"
    shorter.write_bytes(gzip.compress("".join(shortened(session)).encode()))
    steps = {each.sequence.name: each.steps for each in RecordedSession(shorter).compared()}
    assert steps == {"one": 4}


def test_what_is_kept_covers_all_and_most_for_each_question() -> None:
    one, two, three, four = (frozenset(str(number)) for number in range(4))
    offered = {
        "long": [Covered(1, one), Covered(2, frozenset()), Covered(4, two | three)],
        "short": [Covered(1, one | two), Covered(2, one)],
        "differs": [Covered(1, four), Covered(2, frozenset())],
    }
    assert covering(offered, {}) == {"short": 1, "long": 4, "differs": 1}
    assert covering(offered, {"differs": 2}) == {"short": 1, "long": 4, "differs": 2}
    assert covering({"same": offered["short"], "short": offered["short"]}, {}) == {"same": 1}


def test_only_wanted_sequences_are_compared(session: Path) -> None:
    found = RecordedSession(session).compared(lambda name: name.startswith("random"))
    assert [each.sequence.name for each in found] == ["random 2 of 2 steps, seed 0"]


def test_a_way_is_known_by_the_name_of_the_sequence() -> None:
    assert ways.way_of("probe vote request 3") == "probes"
    assert ways.way_of("script create a snapshot: within a batch") == "scripts"
    assert ways.way_of("scenario-a 3, replica 1") == ways.SCENARIOS
    assert ways.way_of("finding-wiped-leader 1, replica 2") == ways.LED


def test_what_one_way_alone_covers_and_notices_is_counted(session: Path) -> None:
    found = ways.covered(session)
    assert {name: (way.sequences, way.steps) for name, way in found.items()} == {
        ways.SCENARIOS: (1, 5),
        "random sequences": (1, 2),
    }
    found[ways.SCENARIOS].mutants.add("a")
    found["random sequences"].mutants.update("ab")
    rows = list(ways.table(found, 3))
    assert rows[2].endswith("| 1 of 3 | 0 | 0 |") and rows[3].endswith("| 2 of 3 | 1 | 0 |")
    assert " | 0 | 2 of 3 |" in rows[3]


@pytest.mark.slow
def test_what_more_states_cover() -> None:
    fewer, more = (states.search([shipped()["scenario-a"]], number) for number in (10, 10_000))
    assert (fewer.in_part, more.in_part) == (1, 0) and len(fewer.sequences) < len(more.sequences)
    new = states.with_more(fewer, more, frozenset())
    assert 0 < len(new) <= len(more.sequences) and states.with_more(more, more, frozenset()) == []
    known = frozenset().union(*(pairs for _, pairs in more.sequences))
    assert states.with_more(fewer, more, known) == []
    assert f"| 10,000 | {len(more.sequences)} | 0 | {len(known):,} | " in states.row(more, frozenset())
