"""The log files of the recorded runs, held against the event streams of the same runs.

What is compared depends on what the level of a run's logs shows:

- every level: the processes; every change of role, epoch, leader and vote, step by step, with the writes of
  the quorum-state file; the voter set in force with its offset, kraft.version; truncations; snapshots loaded;
- INFO: the first high watermark of every state that begins without one;
- DEBUG: every high watermark;
- TRACE: every end of the log that an append led to.
"""

from __future__ import annotations

import gzip
import json
import random
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from kraftcheck.evidence.history.facts import NOT_SHOWN, Key
from kraftcheck.evidence.logs.node_history import HistoryEntry
from kraftcheck.evidence.logs.reader import LogReport, Options, Reader, read_logs
from kraftcheck.evidence.logs.states import LoggedState
from tests.recorded.recorded_runs import recorded_runs

RUNS = recorded_runs()
Step = dict[str, Any]
_NO_DIRECTORY = (None, "AAAAAAAAAAAAAAAAAAAAAA")


@pytest.fixture(scope="module", params=RUNS, ids=lambda run: run.name)
def run(request: pytest.FixtureRequest) -> Path:
    """Each run, with all that is asked of it one after the other: it is read once."""
    found: Path = request.param
    return found


@dataclass
class Process:
    """One process: the history that its log lines show, and the lines of the event stream about it."""

    history: list[HistoryEntry] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)

    @property
    def ended_inside_a_step(self) -> bool:
        return bool(self.steps) and self.steps[-1]["ev"] == "end" and self.steps[-1]["reason"] != "stopped"


@cache
def read(run: Path) -> tuple[LogReport, str, dict[int, list[Process]]]:
    """The report on a run's logs, their level, and the processes of each node."""
    histories: dict[tuple[int, int], list[HistoryEntry]] = defaultdict(list)
    report = read_logs([run], Options(), lambda entry: histories[entry.node, entry.process].append(entry))
    processes: dict[int, list[Process]] = defaultdict(list)
    with gzip.open(run / "trace.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            step = json.loads(line)
            node = step.get("n")
            if step["ev"] == "start":
                entries = histories.pop((node, len(processes[node]) + 1), [])
                processes[node].append(Process(entries))
            if step["ev"] in ("start", "tick", "recv", "api", "expire", "end"):
                processes[node][-1].steps.append(step)
    assert not histories, f"processes without an event: {sorted(histories)}"
    level = json.loads((run / "run.json").read_text(encoding="utf-8"))["logLevel"]
    return report, level, processes


def all_processes(run: Path) -> list[tuple[str, Process]]:
    """Every process of a run, with a name for messages."""
    _, _, processes = read(run)
    return [
        (f"node {node}, process {number}", process)
        for node, of_node in sorted(processes.items())
        for number, process in enumerate(of_node, 1)
    ]


def stored(state: LoggedState) -> tuple[int, int, Key | None]:
    """Epoch, leader (-1: none) and vote that the quorum-state file holds in this state."""
    leader = state.leader if isinstance(state.leader, int) else -1
    voted = None if state.voted is NOT_SHOWN else state.voted
    return state.epoch, leader, voted


def written(file: Step) -> tuple[int, int, Key | None]:
    """The same, from a recorded write of the file."""
    return file["leaderEpoch"], file["leaderId"], key(file["votedId"], file.get("votedDirectoryId"))


def key(replica: int, directory: str | None) -> Key | None:
    return None if replica < 0 else Key(replica, None if directory in _NO_DIRECTORY else directory)


def same_file(one: tuple[int, int, Key | None], other: tuple[int, int, Key | None]) -> bool:
    """Without directory ids where the file holds none (kraft.version 0)."""
    if one[:2] != other[:2] or (one[2] is None) != (other[2] is None):
        return False
    return one[2] is None or other[2] is None or one[2].matches(other[2])


def agrees(state: LoggedState, shown: Step) -> bool:
    """Whether a logged state is the recorded one, in all that both show."""
    if (state.role, state.epoch) != (shown["state"], shown["epoch"]):
        return False
    if state.leader is not NOT_SHOWN and (-1 if state.leader is None else state.leader) != shown["leader"]:
        return False
    if state.voted is NOT_SHOWN:
        return True
    voted = shown.get("voted")
    recorded = None if voted is None else key(voted[0], voted[1] if len(voted) > 1 else None)
    if state.voted is None or recorded is None:
        return state.voted is None and recorded is None
    return state.voted.matches(recorded)


def follow(name: str, process: Process) -> None:
    """Take every logged change exactly once, in the step of the event stream in which it happened."""
    changes = [e for e in process.history if e.what in ("start", "transition", "attempt", "interrupted")]
    place, state = 0, None
    for step in process.steps:
        where = f"{name}, seq {step['seq']}"
        for file in step.get("persist", ()):
            while changes[place].what == "transition":  # to Prospective or Resigned: not stored
                place, state = place + 1, changes[place].state
            attempt = changes[place]
            assert attempt.what == "attempt", f"{where}: {attempt}"
            assert attempt.state is not None
            assert same_file(stored(attempt.state), written(file)), f"{where}: {file}, {attempt}"
            place += 1
            if place < len(changes) and changes[place].what in ("start", "transition"):
                assert changes[place].state == attempt.state
                place, state = place + 1, changes[place].state
        if "s" not in step:
            continue
        while state is None or not agrees(state, step["s"]):
            assert place < len(changes), f"{where}: {step['s']} is not in the log, the last is {state}"
            assert changes[place].what == "transition", f"{where}: {step['s']}, {changes[place]}"
            place, state = place + 1, changes[place].state
    rest = [entry.what for entry in changes[place:]]
    cut_off = ("interrupted",), ("attempt", "interrupted")
    assert not rest or (process.ended_inside_a_step and tuple(rest) in cut_off), f"{name}: left over {rest}"


def passes_through(name: str, process: Process, logged: list[Any], recorded: list[Any]) -> None:
    """As `beginning`, but one step may read several values of which the event stream shows the last."""
    place = 0
    for value in recorded:
        assert value in logged[place:], f"{name}: {value} is not in the log after {logged[:place]}"
        place = logged.index(value, place) + 1
    assert len(logged) - place <= process.ended_inside_a_step, f"{name}: left over {logged[place:]}"
    several = sum(len(changes) > 1 for changes in voters_records(process))
    assert len(logged) - len(recorded) <= several + process.ended_inside_a_step, f"{name}: {logged}"


def voters_records(process: Process) -> list[list[Step]]:
    """The control batches that each step could read."""
    found = []
    for step in process.steps:
        text = json.dumps(step.get("data", {})) + json.dumps(step.get("log", []))
        found.append([{}] * text.count('"control": true'))
    return found


def test_every_change_of_state_is_in_both(run: Path) -> None:
    for name, process in all_processes(run):
        follow(name, process)


def test_processes_and_problems(run: Path) -> None:
    report, _, processes = read(run)
    assert {number: node.summary.processes for number, node in report.nodes.items()} == {
        number: len(of_node) for number, of_node in processes.items()
    }
    assert all("4.3" in span for node in report.nodes.values() for span in node.summary.releases)
    fatal = sum(process.steps[-1].get("reason") == "fatal" for _, process in all_processes(run))
    assert report.findings.problem_counts["NoFatal"] == fatal
    noted = json.loads((run / "run.json").read_text(encoding="utf-8")).get("invariantNotes")
    if not noted:
        explained = {"NoFatal"}
        if any(step["lostUnflushed"] for _, process in all_processes(run) for step in process.steps[:1]):
            explained.add(
                "LeaderCompleteness"
            )  # a voter that lost committed records is a finding, and no error
        assert set(report.findings.problem_counts) <= explained


def without_repeats(values: list[Any]) -> list[Any]:
    return [value for at, value in enumerate(values) if at == 0 or value != values[at - 1]]


def beginning(name: str, process: Process, logged: list[Any], recorded: list[Any]) -> None:
    """Both are equal; a step that the end of the process cut short may have logged more than is recorded."""
    extra = len(logged) - len(recorded)
    if process.ended_inside_a_step and extra == 1:
        logged = logged[:-1]
    assert logged == recorded, name


def test_voter_sets(run: Path) -> None:
    for name, process in all_processes(run):
        first = next(
            (at for at, entry in enumerate(process.history) if entry.what in ("start", "attempt")), 0
        )
        logged = [
            (
                -1 if entry.voters_offset is None else entry.voters_offset,
                sorted([one.id, one.directory] for one in entry.voters or ()),
            )
            for entry in process.history[first:]
        ]
        recorded = [
            (step["s"]["votersOffset"], sorted([one[0], *(one[1:] or [None])] for one in step["s"]["voters"]))
            for step in process.steps
            if "s" in step
        ]
        passes_through(name, process, without_repeats(logged), without_repeats(recorded))
        versions = without_repeats([entry.version or 0 for entry in process.history[first:]])
        known = without_repeats([step["s"]["kraftVersion"] for step in process.steps if "s" in step])
        passes_through(name, process, versions, known)


def test_truncations_and_snapshots(run: Path) -> None:
    for name, process in all_processes(run):
        logged = [(e.what, e.offset) for e in process.history if e.what in ("truncation", "snapshot")]
        names = {"truncate": "truncation", "truncateToSnapshot": "snapshot"}
        recorded = [
            (names[change["op"]], change["to" if change["op"] == "truncate" else "offset"])
            for step in process.steps
            if step["ev"] != "start"
            for change in step.get("log", ())
            if change["op"] in names
        ]
        beginning(name, process, logged, recorded)


def test_high_watermarks(run: Path) -> None:
    _, level, _ = read(run)
    for name, process in all_processes(run):
        logged = [entry.offset for entry in process.history if entry.what == "high watermark"]
        values = [step["s"]["hw"] for step in process.steps if "s" in step]
        if level == "INFO":
            firsts = [now for before, now in zip([-1, *values], values, strict=False) if before < 0 <= now]
            beginning(name, process, logged, firsts)
            continue
        moves = [e.offset for e in process.history if e.what in ("high watermark", "snapshot")]
        known = [value for value in values if value >= 0]
        beginning(name, process, without_repeats(moves), without_repeats(known))


def test_ends_of_the_log(run: Path) -> None:
    _, level, _ = read(run)
    for name, process in all_processes(run):
        logged = [entry.offset for entry in process.history if entry.what == "append"]
        if level != "TRACE":
            assert not logged, f"{name}: appends are logged at {level}"
            continue
        recorded = [
            change["batches"][-1]["last"] + 1 if change["by"] == "leader" else change["end"]
            for step in process.steps
            if step["ev"] != "end"
            for change in step.get("log", ())
            if change["op"] == "append"
        ]
        beginning(name, process, logged, recorded)


def lines_of(run: Path) -> dict[str, list[bytes]]:
    return {
        path.name: gzip.decompress(path.read_bytes()).splitlines(keepends=True)
        for path in sorted(run.glob("node-*.log.gz"))
    }


def read_texts(texts: dict[str, bytes]) -> LogReport:
    reader = Reader(Options())
    for name, text in texts.items():
        reader.read(Path(name), [text], None)
    return reader.finish()


def test_all_nodes_in_one_file_are_told_apart(run: Path) -> None:
    """The lines of all nodes, mixed at random and each node's in order: as one file would collect them."""
    logs = {name: iter(lines) for name, lines in lines_of(run).items()}
    order = [name for name, lines in lines_of(run).items() for _ in lines]
    random.Random(run.name).shuffle(order)
    merged = read_texts({"all.log": b"".join(next(logs[name]) for name in order)})
    apart, _, _ = read(run)
    assert {n: node.summary.transitions for n, node in merged.nodes.items()} == {
        n: node.summary.transitions for n, node in apart.nodes.items()
    }
    assert merged.findings.problem_counts == apart.findings.problem_counts


def test_a_missing_middle_is_a_gap_and_no_problem(run: Path) -> None:
    texts = {}
    for name, lines in lines_of(run).items():
        third = len(lines) // 3
        texts[f"{name}.1"] = b"".join(lines[:third])
        texts[name] = b"".join(lines[2 * third :])
    report = read_texts(texts)
    apart, _, _ = read(run)
    assert set(report.findings.problem_counts) <= set(apart.findings.problem_counts)
