"""Recordings of simulated clusters, by the reference in process and behind the drive protocol."""

from __future__ import annotations

from pathlib import Path

import pytest

from kraftcheck.evidence.adapters.serving import ReferenceAdapter
from kraftcheck.evidence.adapters.session import Session
from kraftcheck.evidence.recorder.adapter_host import AdapterHost, require_whole
from kraftcheck.evidence.recorder.hosts import ReferenceHost
from kraftcheck.evidence.recorder.parts import finished
from kraftcheck.evidence.recorder.profiles import PROFILES, schedule
from kraftcheck.evidence.recorder.running import Compared
from kraftcheck.evidence.recorder.schedule import Choice, Cluster, Schedule, dumps, load, record
from kraftcheck.evidence.recorder.shrinking import shrink
from kraftcheck.evidence.recorder.simulation import Simulation
from kraftcheck.evidence.recorder.writing import files_of
from kraftcheck.evidence.recordings import host
from kraftcheck.evidence.recordings.properties.judge import judge
from kraftcheck.evidence.recordings.recording import recording_of
from kraftcheck.reference.disk import Disk
from kraftcheck.reference.effects import Fatal
from kraftcheck.reference.fatal import FatalReason
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.protocol import KAFKA, Protocol
from kraftcheck.reference.replica import Replica
from kraftcheck.reference.step import Outcome, start
from kraftcheck.support.errors import InputError
from tests.evidence.adapters.in_process import InProcess
from tests.evidence.recordings.small_recording import agrees, report_on

SMALL = Schedule(
    "small",
    3,
    4_000,
    Cluster(voters=2, joiners=1),
    (
        *(Choice(20 * node, "start", node) for node in (1, 2, 3)),
        Choice(2_600, "append", count=2),
        Choice(2_900, "add-voter", 3),
        Choice(3_200, "snapshot", 1),
        Choice(3_300, "kill", 3),
        Choice(3_350, "wipe", 3),
        Choice(3_400, "start", 3),
    ),
)


class Hosting:
    """Starts the reference behind the drive protocol."""

    def __init__(self) -> None:
        self.sessions: dict[int, Session] = {}

    def __call__(self, draw, protocol, times, servers, identity, disk, now):  # type: ignore[no-untyped-def]
        if identity.id not in self.sessions:
            self.sessions[identity.id] = Session(InProcess(ReferenceAdapter()))
        return AdapterHost(self.sessions[identity.id], draw, protocol, times, servers, identity, disk, now)


@pytest.mark.slow
def test_the_reference_behind_an_adapter_agrees_and_shows_the_same_every_time() -> None:
    lines = record(SMALL, Hosting())
    agrees(lines)
    assert {"apiVersions", "adminResult", "wipe"} <= {line["ev"] for line in lines}
    assert any(line.get("created") for line in lines)
    assert files_of("run", record(SMALL, Hosting())) == files_of("run", lines)


@pytest.mark.one_in(3)
@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("profile", PROFILES)
def test_every_profile_agrees_with_the_reference(profile: str, seed: int) -> None:
    agrees(record(schedule(profile, seed, 25)))


def test_a_schedule_is_a_file(tmp_path: Path) -> None:
    path = tmp_path / "schedule.json"
    for profile in PROFILES:
        planned = schedule(profile, 7, 40)
        path.write_text(dumps(planned))
        assert load(path) == planned


@pytest.mark.parametrize(
    ("before", "after", "wrong"),
    [
        ('"do": "start"', '"do": "begin"', "do: must be one of"),
        ('"node": 1', '"node": 77', "has no node 77"),
        ('"version": 1', '"version": 9', "no schedule of version 1"),
        ('"voters": 2', '"voters": 0', "cluster.voters"),
        ('"at": 20', '"at": -1', "at"),
        ('"do": "wipe", "node": 3', '"do": "wipe"', "wipe needs one"),
    ],
)
def test_a_wrong_schedule_is_one_sentence(tmp_path: Path, before: str, after: str, wrong: str) -> None:
    path = tmp_path / "schedule.json"
    text = dumps(SMALL)
    assert before in text
    path.write_text(text.replace(before, after, 1))
    with pytest.raises(InputError, match=wrong) as caught:
        load(path)
    assert str(path) in str(caught.value)


def test_a_schedule_is_shrunk_to_what_the_difference_needs() -> None:
    """A difference that needs a crash point and, before it, two appends."""
    planned = schedule("crash", 5, 40)

    def again(tried: Schedule) -> Compared:
        crash = [each.at for each in tried.choices if each.do == "crash-at"]
        appends = [each.at for each in tried.choices if each.do == "append"]
        if crash and len([at for at in appends if at < crash[0]]) >= 2:
            return Compared("tried", 9, kind="wanted", seq=5, time=crash[0])
        return Compared("tried", 9)

    first = again(planned)
    assert first.differs
    smallest, found = shrink(planned, first, again, seconds=60, max_runs=500)
    assert sorted(each.do for each in smallest.choices) == ["append", "append", "crash-at"]
    assert found.kind == "wanted" and smallest.until == found.time + 1


def test_an_adapter_that_does_not_show_enough_is_refused() -> None:
    class Silent(ReferenceAdapter):
        def hello(self) -> dict[str, object]:
            shown = super().hello()
            shown["capabilities"]["state"] = ["epoch"]
            return shown

    session = Session(InProcess(Silent()))
    with pytest.raises(InputError, match=r"capabilities\.state: state, leader"):
        require_whole(session)


@pytest.mark.slow
def test_a_voter_that_restarts_with_a_snapshot_and_the_records_below_it_violates_nothing() -> None:
    choices = (
        *(Choice(20 * node, "start", node) for node in (1, 2, 3)),
        *(Choice(at, "append", count=2) for at in (2_600, 2_900, 3_400, 3_600)),
        *(Choice(3_000, "snapshot", node, power=False) for node in (1, 2, 3)),
        *(Choice(3_050 + node, "kill", node, power=False) for node in (2, 3)),
        *(Choice(3_100 + node, "start", node) for node in (2, 3)),
    )
    lines = record(Schedule("kept", 3, 4_000, Cluster(), choices))
    assert any(line["ev"] == "start" and line["s"].get("snapshot") and line["logBatches"] for line in lines)
    assert not [each for each in judge(recording_of(lines), KAFKA).findings if not each.hazard]


@pytest.mark.parametrize("hosting", [ReferenceHost, Hosting()], ids=["reference", "adapter"])
def test_a_process_that_exits_before_it_has_a_state_is_an_end_without_a_start(hosting) -> None:  # type: ignore[no-untyped-def]
    """An observer finds its own vote on its disk, as a removed voter does."""
    cluster = Simulation(1, voters=1, joiners=1, hosting=hosting)
    observer = cluster.nodes[2]
    observer.file = {"leaderId": -1, "leaderEpoch": 1, "votedId": 2, "votedDirectoryId": observer.directory}
    cluster.start(1)
    cluster.start(2)
    cluster.run(500)
    lines = finished(cluster.lines, cluster.time)
    shown = [(line["ev"], line.get("reason"), line["inc"]) for line in lines if line.get("n") == 2]
    assert shown == [("end", "fatal", 1)]
    assert observer.process is None


def test_an_exit_at_the_start_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Simulation(1, voters=2)
    cluster.start(1)
    cluster.start(2)
    cluster.run(2_000)
    cluster.kill(2)
    with monkeypatch.context() as patched:
        patched.setattr(host, "start", exits_at_start)
        cluster.start(2)
        lines = finished(cluster.lines, cluster.time)
        report = agrees(lines)
        assert lines[-2]["reason"] == "fatal" and report.compared["end"] == 2
    found = report_on(lines).differences[0]
    assert (found.seq, found.reference, found.production) == (lines[-2]["seq"], "the process starts", "fatal")


def exits_at_start(protocol: Protocol, process: Replica, disk: Disk) -> Outcome:
    """The start of a process, which exits where an earlier one has written to the disk."""
    found = start(protocol, process, disk)
    if disk.quorum_state is None:
        return found
    return replace(found, effects=(*found.effects, Fatal(FatalReason.CANDIDATE_NOT_VOTER)))
