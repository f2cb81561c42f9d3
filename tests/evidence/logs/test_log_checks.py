"""The checks on lines that are right, missing, out of order or foreign.

That each check fails on a log that breaks its demand is asserted in `test_fleet_walks`.
"""

from __future__ import annotations

import pytest

from kraftcheck.evidence.logs.reader import Options
from tests.evidence.logs.log_lines import change, problems, read, state, text_of
from tests.laboratory.logs.render import directory, offset_text, replica_state

START = state("Unattached", 0)
START_LINES = change(START, None)


def follower(epoch: int = 1, leader: int = 2, **more: object) -> list[str]:
    """A start, and a leader found."""
    return START_LINES + change(state("Follower", epoch, leader=leader, **more), START)


def leader_of(epoch: int, start: int = 10) -> list[str]:
    """A start, and an election won."""
    standing = state("Prospective", epoch - 1, granted=frozenset({1, 2}))
    candidate = state("Candidate", epoch, voted=1, granted=frozenset({1, 2}))
    before = state("Unattached", epoch - 1)
    return (
        change(before, None)
        + change(standing, before)
        + change(candidate, standing)
        + change(state("Leader", epoch, start=start), candidate)
    )


def first_high(offset: int, epoch: int, ends: tuple[int | None, ...]) -> str:
    voters = ", ".join(replica_state(node, end, 12) for node, end in enumerate(ends, 1))
    text = f"High watermark set to {offset_text(offset)} for the first time for epoch {epoch}"
    return f"{text} based on indexOfHw 1 and voters [{voters}]"


def vote_line(
    candidate: int,
    epoch: int,
    answer: str = "granted",
    pre_vote: bool = False,
    log: tuple[int, int] = (0, 0),
) -> str:
    return (
        "Vote request VoteRequestData(clusterId='c', voterId=1, topics=[TopicData("
        "topicName='__cluster_metadata', "
        f"partitions=[PartitionData(partitionIndex=0, replicaEpoch={epoch}, replicaId={candidate}, "
        f"replicaDirectoryId={directory(candidate)}, voterDirectoryId={directory(1)}, "
        f"lastOffsetEpoch={log[0]}, "
        f"lastOffset={log[1]}, preVote={str(pre_vote).lower()})])]) with epoch {epoch} is {answer}"
    )


def voters_line(offset: int, *ids: int) -> str:
    nodes = ", ".join(
        f"{one}=VoterNode(voterKey=ReplicaKey(id={one}, directoryId={directory(one)}), listeners=Endpoints("
        "endpoints={}), supportedKRaftVersion=SupportedVersionRange[min_version:0, max_version:1])"
        for one in ids
    )
    return f"Latest set of voters is VoterSet(voters={{{nodes}}}) at offset {offset}"


def appended(offset: int, epoch: int) -> str:
    return f"Follower end offset updated to OffsetAndEpoch[offset={offset}, epoch={epoch}] after append"


FOLLOWER = state("Follower", 1, leader=2)
PROSPECTIVE = state("Prospective", 1, leader=2, granted=frozenset({1}))
CANDIDATE = state("Candidate", 2, voted=1, granted=frozenset({1, 2}))
READING = "Reading KRaft snapshot and log as part of the initialization"


@pytest.mark.parametrize(
    "texts",
    [
        [text_of(follower() + change(PROSPECTIVE, FOLLOWER))],
        [text_of([*leader_of(2), first_high(12, 2, (13, 12, None)), voters_line(20, 1, 2, 3)])],
        [text_of([*follower(), voters_line(3, 1, 2), voters_line(5, 1, 2, 3), voters_line(7, 1, 3)])],
        [text_of([*follower(), vote_line(3, 1, "rejected"), vote_line(3, 1, pre_vote=True)])],
        [
            text_of(
                [*follower(1, 2, voted=3), READING, *change(state("Follower", 1, leader=2, voted=3), None)]
            )
        ],
        [text_of([*leader_of(2), READING, *change(state("Resigned", 2), None)])],
        [text_of([*follower(5), READING, *change(state("Unattached", 0), None)])],
        [
            text_of(
                [
                    *follower(),
                    voters_line(3, 1, 2, 3),
                    voters_line(9, 1, 2, 3, 4),
                    "Truncated to offset 9 from Fetch response from leader 2",
                    voters_line(9, 1, 2),
                ]
            )
        ],
    ],
)
def test_what_is_right_is_not_reported(texts: list[bytes]) -> None:
    assert problems(*texts) == []


def test_a_problem_names_both_lines() -> None:
    text = text_of([*follower(), *(f"Follower high watermark updated to {high}" for high in (8, 7))])
    (problem,) = read(text)[0].findings.problems
    lines = text.decode().splitlines()
    assert problem.earlier is not None
    assert lines[problem.where.line - 1].split("] ")[-1].startswith("Follower high watermark updated to 7")
    assert "updated to 8" in lines[problem.earlier.line - 1]


def test_a_gap_between_files_is_no_problem_and_counted() -> None:
    first = text_of(follower())
    second = text_of(change(state("Unattached", 9), state("Follower", 8, leader=3)), start=1_000_000)
    report, _ = read(first, second)
    assert report.findings.problems == []
    assert report.findings.notes["gaps"] == 1


def test_after_a_gap_what_contradicts_is_a_problem_still() -> None:
    first = text_of(follower(7))
    second = text_of(change(state("Unattached", 9), state("Follower", 5, leader=3)), start=1_000_000)
    assert problems(first, second) == ["EpochMonotone"]


def test_an_attempt_that_a_restart_cuts_off_is_counted() -> None:
    attempt = change(state("Unattached", 2), FOLLOWER)[:1]
    report, told = read(text_of([*follower(), *attempt, READING, *change(state("Unattached", 2), None)]))
    assert report.findings.problems == []
    assert report.findings.notes["interrupted"] == 1
    assert report.nodes[1].summary.processes == 2
    assert [entry.what for entry in told if entry.what in ("start", "interrupted")] == [
        "start",
        "interrupted",
        "start",
    ]


def test_times_that_go_back_are_counted_and_nothing_else() -> None:
    lines = text_of(follower()).splitlines(keepends=True)
    lines[-1] = lines[-1].replace(b"2026-01-01", b"2025-12-31")
    report, _ = read(b"".join(lines))
    assert report.findings.problems == []
    assert report.findings.notes["time-back"] == 1


def test_a_file_with_the_same_stretch_of_time_is_not_read_twice() -> None:
    whole = follower() + change(PROSPECTIVE, FOLLOWER)
    report, told = read(text_of(whole), text_of(whole) + b"\n")
    assert report.findings.problems == []
    assert report.findings.notes["overlap"] == len(whole)
    assert len([entry for entry in told if entry.what == "transition"]) == 2


def test_the_release_that_is_given_is_the_one_used() -> None:
    """A change that only the older table has, in a form that does not tell the releases apart."""
    resigned = state("Resigned", 2)
    messages = change(resigned, None) + change(state("Candidate", 3, voted=1), resigned, "3.9")
    as_39, _ = read(text_of(messages, release="3.9"), options=Options(release="3.9.1"))
    as_43, _ = read(text_of(messages, release="3.9"), options=Options(release="4.3"))
    assert "TransitionsLegal" not in {problem.check for problem in as_39.findings.problems}
    assert "TransitionsLegal" in {problem.check for problem in as_43.findings.problems}


def test_several_nodes_in_one_file_are_told_apart() -> None:
    one = text_of(follower(1, 2)).splitlines(keepends=True)
    three = text_of(
        change(state("Unattached", 0, 3), None)
        + change(state("Follower", 1, 3, leader=2), state("Unattached", 0, 3)),
        node=3,
    ).splitlines(keepends=True)
    report, _ = read(b"".join(line for pair in zip(one, three, strict=True) for line in pair))
    assert report.findings.problems == []
    assert [node.summary.transitions for node in report.nodes.values()] == [2, 2]


@pytest.mark.parametrize("release", ("3.3", "3.5", "3.8", "3.9", "4.0", "4.3"))
def test_an_epoch_that_starts_below_what_is_committed_is_reported_once(release: str) -> None:
    follower = state("Follower", 1, leader=2, high=100)
    later = state("Unattached", 2, high=100)
    candidate = state("Candidate", 3, voted=1, high=100, granted=frozenset({1, 2}))
    states = [state("Unattached", 0), state("Follower", 1, leader=2), follower, later, candidate]
    messages = change(states[0], None, release) + change(states[1], states[0], release)
    messages.append("Follower high watermark updated to 100")
    messages += change(later, follower, release)
    before = later
    if release >= "4.0":
        before = state("Prospective", 2, high=100, granted=frozenset({1, 2}))
        messages += change(before, later, release)
    messages += change(candidate, before, release)
    messages += change(state("Leader", 3, start=99), candidate, release)
    assert problems(text_of(messages, release=release)) == ["LeaderCompleteness"]


@pytest.mark.parametrize("release", ("3.3", "3.4"))
def test_a_follower_that_forgets_its_high_watermark_has_started_anew(release: str) -> None:
    """No line tells a start up to 3.4, and a follower follows itself up in the same epoch when it starts."""
    follower = state("Follower", 1, leader=2)
    messages = change(state("Unattached", 1), None, release) + change(follower, None, release)
    messages += ["Follower high watermark updated to 100", *change(follower, None, release)]
    messages.append("Follower high watermark updated to 50")
    report, _ = read(text_of(messages, release=release))
    assert report.findings.problems == []
    assert not report.findings.notes


@pytest.mark.parametrize("release", ("3.3", "4.3"))
def test_after_a_damaged_line_a_change_is_not_held_against_the_state_before(release: str) -> None:
    steps = [state("Unattached", 1), state("Follower", 1, leader=2), state("Leader", 2)]
    messages = change(steps[0], None, release) + change(steps[1], steps[0], release)
    damaged = text_of(["Completed transition to CandidateState("], release=release)
    shown = None if release < "3.5" else state("Candidate", 2, voted=1, granted=frozenset({1, 2}))
    after = text_of(change(steps[2], shown, release), release=release, start=100)
    report, _ = read(text_of(messages, release=release) + damaged + after)
    assert report.findings.problems == []
    assert report.findings.notes["unreadable"] == report.findings.notes["gaps"] == 1


def test_messages_of_other_parts_of_the_process_disturb_nothing() -> None:
    foreign = (
        b"[2026-01-01 00:00:00,000] INFO [%s] Truncated to offset 5 from Fetch response from leader 2 (a.B)\n"
    )
    contexts = (b"RaftLog partition=__cluster_metadata-0, nodeId=1", b"MetadataLoader id=1", b"Controller 1")
    follower = state("Follower", 1, leader=2)
    messages = [*change(state("Unattached", 1), None), *change(follower, state("Unattached", 1))]
    high = [*messages, "Follower high watermark updated to 100"]
    for context in contexts:
        later = text_of(["Follower high watermark updated to 90"], start=200)
        report, _ = read(text_of(high) + foreign % context + later)
        assert [one.check for one in report.findings.problems] == ["HighWatermarkMonotone"]
        assert not report.findings.notes


def test_votes_of_another_cluster_are_counted() -> None:
    messages = [*change(state("Unattached", 1), None)]
    first = vote_line(2, 1, "rejected", log=(0, 0))
    messages += [first, first, first.replace("clusterId='c'", "clusterId='d'")]
    report, told = read(text_of(messages))
    assert report.findings.notes["other-cluster"] == 1
    answers = [(entry.what, entry.vote.candidate.id) for entry in told if entry.vote is not None]
    assert answers == [("vote rejected", 2)] * 3
